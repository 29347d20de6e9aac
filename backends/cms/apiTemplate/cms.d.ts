// What handler classes find, for editors that understand TypeScript. This file is not
// loaded; the server writes it once and leaves it then.

/** The users, as handlers may know of them. */
interface CmsUser {
  readonly id: number;
  readonly name: string;
  readonly roles: string[];
}

/** A page: these members, and those of its template. */
interface CmsPage {
  id: number;
  parent: number;
  template: string;
  name: string;
  path: string;
  title: string;
  status: "published" | "hidden" | "unpublished" | "trash";
  sort: number;
  created: string;
  created_by: number;
  modified: string;
  modified_by: number;
  published: string | null;
  version: number;
  [field: string]: any;
}

/** The second argument of a method. */
interface CmsContext {
  /** Upper case, such as GET. */
  readonly method: string;
  /** Below the endpoint, such as users/7. */
  readonly path: string;
  /** Names in lower case. */
  readonly headers: { [name: string]: string };
  readonly user: CmsUser;
  readonly requestId: string;
  /** The address of the client. */
  readonly address: string;
  /** 200 to 599. */
  setStatus(status: number): void;
  setHeader(name: string, value: string): void;
}

/** The first argument of a method: query, body and URL parameters, later ones win. */
interface CmsData {
  readonly userId: number;
  [name: string]: any;
}

/** What is thrown is answered with its code, 400 to 599. */
interface CmsError {
  code: number;
  message: string;
}

/** In pixels, 1 to 2560; fit: contain (by default), or cover, which needs both. */
interface CmsSize {
  width?: number;
  height?: number;
  fit?: "contain" | "cover";
}

/** The content, as the user of the request may. Not found: null. */
declare const pages: {
  /** The list has the cursor behind it as after; empty: this is the end. */
  find(selector: string): CmsPage[] & { after: string };
  /** By a selector, a path or an id. */
  get(selector: string | number): CmsPage | null;
  count(selector: string): number;
  /** parent is an id or a path. */
  add(page: { template: string; parent: number | string; title?: string; name?: string; status?: string; [field: string]: any }): CmsPage;
  save(page: CmsPage): CmsPage;
  save(page: number | CmsPage, changes: { [name: string]: any }): CmsPage;
  trash(page: number | CmsPage): void;
  /** Puts a file into a field of a page: the name of a part of the form that was sent, or a text. */
  attach(page: number | CmsPage, field: string, file: string | { name: string; text: string }): CmsPage;
  /** An answer with a file, or with an image of it in a size: return it. */
  file(file: number | { id: number }, size?: CmsSize): CmsResponse;
  /** The address of an image in a size, which is signed; for who may see the file. */
  image(file: number | { id: number }, size: CmsSize): string;
};

declare const users: {
  /** By id, behind after; 25, at most 500. */
  find(options?: { after?: number; limit?: number }): CmsUser[];
  get(idOrName: number | string): CmsUser | null;
};

interface CmsDefinitions {
  all(): { name: string; label: string; [name: string]: any }[];
  get(name: string): { name: string; label: string; [name: string]: any } | null;
}
declare const templates: CmsDefinitions;
declare const fields: CmsDefinitions;

/** A sanitizer changes a value, it does not refuse one. */
declare const sanitizer: {
  /** spec is a name, a name with a length (text20), or several (text_entities). */
  apply(value: any, spec: string, ...more: any[]): any;
  /** Whether a sanitizer would leave the value as it is. */
  valid(value: any, spec: string, ...more: any[]): boolean;
  names(): string[];
  string(value: any): string;
  text(value: any): string;
  textarea(value: any): string;
  line(value: any): string;
  lines(value: any): string;
  name(value: any): string;
  fieldName(value: any): string;
  varName(value: any): string;
  templateName(value: any): string;
  pageName(value: any): string;
  username(value: any): string;
  pageNameTranslate(value: any): string;
  pagePathName(value: any): string;
  path(value: any): string | false;
  filename(value: any): string;
  attrName(value: any): string;
  htmlClass(value: any): string;
  htmlClasses(value: any): string;
  alpha(value: any): string;
  alphanumeric(value: any): string;
  digits(value: any): string;
  chars(value: any, allowed?: string): string;
  word(value: any): string;
  words(value: any): string;
  wordsArray(value: any): string[];
  email(value: any): string;
  emailHeader(value: any): string;
  url(value: any): string;
  httpUrl(value: any): string;
  selectorValue(value: any): string;
  selectorField(value: any): string;
  entities(value: any): string;
  unentities(value: any): string;
  entitiesMarkdown(value: any): string;
  purify(value: any): string;
  markupToText(value: any): string;
  markupToLine(value: any): string;
  removeNewlines(value: any): string;
  removeWhitespace(value: any): string;
  reduceWhitespace(value: any): string;
  normalizeWhitespace(value: any): string;
  trim(value: any): string;
  truncate(value: any): string;
  maxLength(value: any): string;
  minLength(value: any): string;
  maxBytes(value: any): string;
  camelCase(value: any): string;
  pascalCase(value: any): string;
  snakeCase(value: any): string;
  kebabCase(value: any): string;
  hyphenCase(value: any): string;
  int(value: any): number;
  intUnsigned(value: any): number;
  intSigned(value: any): number;
  float(value: any): number;
  min(value: any, least?: number): number;
  max(value: any, most?: number): number;
  range(value: any, least?: number, most?: number): number;
  bit(value: any): number;
  bool(value: any): boolean;
  checkbox(value: any): boolean;
  date(value: any, format?: string): number | string;
  array(value: any): any[];
  arrayVal(value: any): any[];
  intArray(value: any): number[];
  intArrayVal(value: any): number[];
  flatArray(value: any): any[];
  minArray(value: any): any[];
  option(value: any, ...allowed: any[]): any;
  options(value: any, ...allowed: any[]): any[];
};

declare const RestApiHelper: {
  /** Each is name|sanitizer, or a name for text. What is missing is answered with 400. */
  checkAndSanitizeRequiredParameters(data: CmsData, specs: string[]): CmsData;
  noEndPoint(): string;
  preflight(): void;
  /** The address of the endpoint, without a slash at its end. */
  baseUrl(): string;
};

declare const input: {
  /** Of a form with parts. */
  readonly files: { field: string; name: string; size: number }[];
  readonly method: string;
  readonly path: string;
  readonly data: CmsData;
  readonly query: { [name: string]: any };
  readonly body: { [name: string]: any };
  readonly params: { [name: string]: string };
  get(name: string, spec?: string): any;
  header(name: string): string | undefined;
};

/** get, set and remove are there in mode session. */
declare const session: {
  readonly user: CmsUser;
  readonly loggedIn: boolean;
  get(name: string): any;
  set(name: string, value: any): void;
  remove(name: string): void;
};

/** Shared by all requests; values are of JSON. */
declare const cache: {
  get(key: string): any;
  /** Without seconds, as long as there is place. */
  set(key: string, value: any, seconds?: number): void;
  delete(key: string): boolean;
  /** Makes what is not there. */
  remember<T>(key: string, seconds: number, make: () => T): T;
};

/** The settings, without secrets. */
declare const config: { readonly endpoint: string; readonly [name: string]: any };

interface CmsFetched {
  readonly status: number;
  readonly ok: boolean;
  readonly headers: { [name: string]: string };
  text(): string;
  json(): any;
}
declare const http: {
  /** From the hosts that the settings allow; by default none. It waits for the answer. */
  fetch(address: string, options?: { method?: string; headers?: { [name: string]: string }; body?: string | object }): CmsFetched;
};

interface CmsResponse {
  readonly status: number;
}
interface CmsResponseClass {
  /** body: a string as it is, anything else as JSON. */
  new (status?: number, body?: any, headers?: { [name: string]: string }): CmsResponse;
  (status?: number, body?: any, headers?: { [name: string]: string }): CmsResponse;
}
declare const Response: CmsResponseClass;

interface CmsLog {
  debug(...values: any[]): void;
  info(...values: any[]): void;
  warn(...values: any[]): void;
  error(...values: any[]): void;
}
declare const log: CmsLog;
declare const console: CmsLog & { log(...values: any[]): void; trace(...values: any[]): void };

/** A file of the site, .js or .json. */
declare function require(name: string): any;
declare var module: { exports: any };
declare var exports: any;
