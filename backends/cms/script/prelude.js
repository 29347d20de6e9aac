// What every runtime has before a site's code comes in: helpers that take much memory
// are bounded, and what all requests of a runtime see cannot be changed.
(function (limits, parse, stringLength) {
  "use strict";
  const { defineProperty, getOwnPropertyDescriptor, getOwnPropertyNames, getPrototypeOf, freeze } = Object;
  const ownKeys = Reflect.ownKeys, apply = Reflect.apply, construct = Reflect.construct;
  const RawArray = Array, isArray = Array.isArray;
  const tooLarge = (what) => new RangeError(what + " would take more than 16 MiB");
  const tooLong = (what) => new RangeError(what + " would go through more than " + limits.steps + " items");
  const replace = (object, name, make) => {
    const raw = object[name];
    // A method, so that it is no constructor and keeps its name.
    const made = make(raw);
    defineProperty(made, "name", { value: name, configurable: true });
    defineProperty(made, "length", { value: raw.length, configurable: true });
    defineProperty(object, name, { value: made, writable: true, configurable: true, enumerable: false });
  };

  // Texts.
  replace(String.prototype, "repeat", (raw) => ({ f(count) {
    count = +count;
    if (count > 0 && stringLength(this) * count > limits.bytes) throw tooLarge("repeat");
    return apply(raw, this, [count]);
  } }).f);
  for (const name of ["padStart", "padEnd"]) {
    replace(String.prototype, name, (raw) => ({ f(length, fill) {
      length = +length;
      if (length > limits.bytes) throw tooLarge(name);
      return apply(raw, this, fill === undefined ? [length] : [length, fill]);
    } }).f);
  }
  replace(String.prototype, "concat", (raw) => ({ f(...more) {
    let size = stringLength(this);
    for (let i = 0; i < more.length; i++) size += stringLength(more[i]);
    if (size > limits.bytes) throw tooLarge("concat");
    return apply(raw, this, more);
  } }).f);
  replace(String, "raw", (raw) => ({ f(strings, ...values) {
    if (strings != null && strings.raw != null && strings.raw.length > limits.items) throw tooLarge("raw");
    return apply(raw, this, [strings, ...values]);
  } }).f);
  replace(String.prototype, "normalize", (raw) => ({ f(form) { // to four times as many
    if (stringLength(this) > limits.bytes / 4) throw tooLarge("normalize");
    return apply(raw, this, form === undefined ? [] : [form]);
  } }).f);

  // The engine finds all places of a pattern without a look at the clock, and one by one it
  // would read the text each time.
  const isPrototypeOf = Object.prototype.isPrototypeOf, patterns = RegExp.prototype;
  const everywhere = (name, text, what) => {
    if (what === null || typeof what !== "object" || !apply(isPrototypeOf, patterns, [what])) return false;
    if (typeof text === "string" && text.length > limits.items * 2) throw tooLarge(name);
    return true;
  };
  replace(String.prototype, "match", (raw) => ({ f(what) {
    if (what != null && what.global) everywhere("match", this, what);
    const found = apply(raw, this, [what]);
    if (found !== null && found.length > limits.items) throw tooLarge("match");
    return found;
  } }).f);
  replace(String.prototype, "matchAll", (raw) => ({ f(what) {
    everywhere("matchAll", this, what);
    return apply(raw, this, [what]);
  } }).f);
  replace(String.prototype, "split", (raw) => ({ f(what, most) {
    everywhere("split", this, what);
    const parts = apply(raw, this, [what, most === undefined ? limits.items + 1 : most]);
    if (parts.length > limits.items) throw tooLarge("split");
    return parts;
  } }).f);
  // counted is what all places of something in a text are replaced by. In a long text it is
  // counted, and must not stand for what may be as long.
  const counted = (name, text, by) => {
    if (typeof by === "function") return by;
    by = "" + by;
    if (typeof text !== "string" || text.length <= limits.text) return by;
    if (by.includes("$")) {
      if (by.includes("$`") || by.includes("$'")) throw tooLarge(name);
      return by;
    }
    let size = 0;
    return () => {
      if ((size += by.length) > limits.bytes) throw tooLarge(name);
      return by;
    };
  };
  replace(String.prototype, "replace", (raw) => ({ f(what, by) {
    return apply(raw, this, [what, what != null && what.global && everywhere("replace", this, what) ? counted("replace", this, by) : by]);
  } }).f);
  replace(String.prototype, "replaceAll", (raw) => ({ f(what, by) {
    if (everywhere("replaceAll", this, what) || typeof by === "string" && by.includes("$")) by = counted("replaceAll", this, by);
    if (typeof what === "string" && typeof by === "string" && by.length > what.length &&
      (stringLength(this) / (what.length || 1)) * by.length > limits.bytes) throw tooLarge("replaceAll");
    return apply(raw, this, [what, by]);
  } }).f);

  // Lists.
  const many = (what, length) => { if (length > limits.items) throw tooLarge(what); };
  const spreads = Symbol.isConcatSpreadable; // an object that is put in as a list
  const spread = (item) => isArray(item) || item !== null && typeof item === "object" && item[spreads] ? +item.length || 0 : 1;
  replace(RawArray.prototype, "concat", (raw) => ({ f(...more) {
    let size = spread(this);
    for (let i = 0; i < more.length; i++) size += spread(more[i]);
    many("concat", size);
    return apply(raw, this, more);
  } }).f);
  replace(RawArray.prototype, "join", (raw) => ({ f(separator) {
    const between = separator === undefined ? 1 : stringLength(separator);
    const length = this.length > 0 ? this.length : 0;
    let size = length * between;
    if (size > limits.bytes) throw tooLarge("join");
    for (let i = 0; i < length; i++) {
      const item = this[i];
      if (typeof item === "string") size += item.length;
      if (size > limits.bytes) throw tooLarge("join");
    }
    return apply(raw, this, separator === undefined ? [] : [separator]);
  } }).f);
  replace(RawArray.prototype, "fill", (raw) => ({ f(...args) {
    many("fill", this.length);
    return apply(raw, this, args);
  } }).f);
  replace(RawArray, "from", (raw) => ({ f(items, ...more) {
    if (typeof items === "string" || isArray(items) || items != null && typeof items === "object" && items[Symbol.iterator] === undefined) many("Array.from", items.length);
    return apply(raw, this, [items, ...more]);
  } }).f);
  const byText = (a, b) => {
    a = String(a);
    b = String(b);
    return a < b ? -1 : a > b ? 1 : 0;
  };
  // Those that go through a list without a look at the clock, by the length that it says it has.
  for (const name of ["copyWithin", "every", "filter", "find", "findIndex", "findLast", "findLastIndex", "flatMap", "forEach", "includes", "indexOf", "lastIndexOf", "map", "reduce",
    "reduceRight", "reverse", "shift", "slice", "some", "sort", "splice", "toLocaleString", "toReversed", "toSorted", "toSpliced", "unshift", "with"]) {
    const ordered = name === "sort" || name === "toSorted";
    replace(RawArray.prototype, name, (raw) => ({ f() {
      if (this != null && this.length > limits.steps) throw tooLong(name);
      if (ordered && arguments[0] === undefined && this.length > limits.text) return apply(raw, this, [byText]);
      return apply(raw, this, arguments);
    } }).f);
  }
  const flatten = (into, list, depth) => {
    if (list.length > limits.steps) throw tooLong("flat");
    for (let i = 0; i < list.length; i++) {
      if (!(i in list)) continue;
      if (depth > 0 && isArray(list[i])) flatten(into, list[i], depth - 1);
      else if (into.push(list[i]) > limits.items) throw tooLarge("flat");
    }
    return into;
  };
  replace(RawArray.prototype, "flat", () => ({ f(depth) {
    return flatten([], Object(this), depth === undefined ? 1 : Math.trunc(depth) || 0);
  } }).f);
  // What is made of each character or byte of what is no list.
  const isView = ArrayBuffer.isView;
  for (const name of ["keys", "values", "entries", "assign", "getOwnPropertyNames", "getOwnPropertyDescriptors"]) {
    replace(Object, name, (raw) => ({ f() {
      for (let i = 0; i < arguments.length; i++) if (typeof arguments[i] === "string" || isView(arguments[i])) many(name, arguments[i].length);
      return apply(raw, this, arguments);
    } }).f);
  }
  // Parameters that are given as a list.
  const parameters = (what, list) => { if (list != null && list.length > limits.items) throw tooLarge(what); };
  replace(Function.prototype, "apply", (raw) => ({ f(self, list) {
    parameters("apply", list);
    return apply(raw, this, [self, list]);
  } }).f);
  replace(Reflect, "apply", (raw) => ({ f(todo, self, list) {
    parameters("apply", list);
    return raw(todo, self, list);
  } }).f);
  replace(Reflect, "construct", (raw) => ({ f(todo, list, ...made) {
    parameters("construct", list);
    return raw(todo, list, ...made);
  } }).f);
  // A class that stands for another one: the engine asks it what its instances are.
  const ordinary = Function.prototype[Symbol.hasInstance];
  const stands = (Raw, Bound) => {
    defineProperty(Raw, Symbol.hasInstance, { value: { f(value) {
      return this === Raw || this === Bound ? apply(isPrototypeOf, Raw.prototype, [value]) : apply(ordinary, this, [value]);
    } }.f });
    Raw.prototype.constructor = Bound;
    globalThis[Raw.name] = Bound;
  };
  const length = (args) => { if (args.length === 1 && typeof args[0] === "number") many("Array", args[0]); };
  const BoundArray = new Proxy(RawArray, {
    apply(target, self, args) { length(args); return construct(target, args); },
    construct(target, args, made) { length(args); return construct(target, args, made === BoundArray ? target : made); },
  });
  stands(RawArray, BoundArray);

  // Buffers.
  for (const name of ["ArrayBuffer", "Uint8Array", "Int8Array", "Uint8ClampedArray", "Uint16Array", "Int16Array", "Uint32Array", "Int32Array",
    "Float32Array", "Float64Array", "BigInt64Array", "BigUint64Array"]) {
    const Raw = globalThis[name];
    if (Raw === undefined) continue;
    const width = Raw.BYTES_PER_ELEMENT || 1;
    const Bound = new Proxy(Raw, {
      construct(target, args, made) {
        const list = args[0] !== null && (typeof args[0] === "object" || typeof args[0] === "function") && name !== "ArrayBuffer";
        if (!list && args.length > 0) args = [+args[0]]; // once
        const size = list ? args[0].length : args[0];
        if (size * width > limits.bytes || list && size > limits.items && args[0].BYTES_PER_ELEMENT === undefined) throw tooLarge(name);
        return construct(target, args, made === Bound ? target : made);
      },
    });
    stands(Raw, Bound);
  }

  replace(getPrototypeOf(Uint8Array.prototype), "join", (raw) => ({ f(separator) {
    if (this.length * (1 + (separator === undefined ? 1 : stringLength(separator))) > limits.bytes) throw tooLarge("join");
    return apply(raw, this, separator === undefined ? [] : [separator]);
  } }).f);

  // Large numbers. What operators make of them is not bounded.
  for (const name of ["asIntN", "asUintN"]) {
    replace(BigInt, name, (raw) => ({ f(bits, value) {
      bits = +bits;
      if (bits > limits.digits) throw tooLarge(name);
      return raw(bits, value);
    } }).f);
  }
  stands(BigInt, new Proxy(BigInt, {
    apply(target, self, args) {
      if (typeof args[0] === "string" && args[0].length > limits.digits) throw tooLarge("BigInt");
      return apply(target, self, args);
    },
  }));

  // JSON is counted while it is made.
  replace(JSON, "stringify", (raw) => ({ f(value, change, space) {
    if (value === null || typeof value !== "object" || isArray(change)) return raw(value, change, space);
    const given = typeof change === "function";
    let size = 0;
    return raw(value, function (key, value) {
      if (given) value = apply(change, this, [key, value]);
      size += key.length + (typeof value === "string" ? value.length : 0) + 4;
      if (size > limits.bytes) throw tooLarge("stringify");
      return value;
    }, space);
  } }).f);

  // Code out of texts, and JSON that nests too deep.
  JSON.parse = parse(JSON.parse);
  delete globalThis.eval;
  const noCode = function Function() { throw new TypeError("code is not made of texts here"); };
  for (const sample of [function () {}, function* () {}, async function () {}]) {
    const prototype = getPrototypeOf(sample);
    defineProperty(prototype, "constructor", { value: noCode, writable: true, configurable: true });
  }
  noCode.prototype = getPrototypeOf(noCode);
  globalThis.Function = noCode;

  // What a handler may assign to its own objects, though a prototype has it, is read
  // through functions there: a frozen property could not be shadowed by assignment.
  const shadowed = ["constructor", "toString", "toLocaleString", "valueOf", "toJSON", "name", "message"];
  const open = (object, keys) => {
    for (const key of keys) {
      const d = getOwnPropertyDescriptor(object, key);
      if (d === undefined || !d.configurable || !("value" in d)) continue;
      const value = d.value;
      defineProperty(object, key, {
        get: () => value,
        set(v) {
          if (this === object) throw new TypeError("built-in objects cannot be changed");
          defineProperty(this, key, { value: v, writable: true, enumerable: true, configurable: true });
        },
        enumerable: false, configurable: false,
      });
    }
  };

  const frozen = new WeakSet();
  // deepFreeze freezes an object and all that it has, but not what it inherits.
  const deepFreeze = (value) => {
    const todo = [value];
    while (todo.length > 0) {
      const object = todo.pop();
      if (object === null || typeof object !== "object" && typeof object !== "function" || frozen.has(object)) continue;
      frozen.add(object);
      freeze(object);
      for (const key of ownKeys(object)) {
        const d = getOwnPropertyDescriptor(object, key);
        if (d === undefined) continue;
        if ("value" in d) { todo.push(d.value); } else { todo.push(d.get, d.set); }
      }
    }
  };
  // harden freezes the built-in objects, their prototypes and what is of the site; not
  // each of their functions.
  const harden = () => {
    open(Object.prototype, getOwnPropertyNames(Object.prototype));
    const shut = (object) => { frozen.add(object); freeze(object); };
    for (const name of getOwnPropertyNames(globalThis)) {
      const d = getOwnPropertyDescriptor(globalThis, name), made = d.value;
      if (made === null || typeof made !== "object" && typeof made !== "function" || made === globalThis) continue;
      shut(made);
      if (typeof made !== "function" || made.prototype == null || made.prototype === Object.prototype) continue;
      open(made.prototype, shadowed);
      shut(made.prototype);
    }
    shut(Object.prototype);
    for (const sample of [function* () {}, async function () {}, [][Symbol.iterator](), new Map()[Symbol.iterator](), new Set()[Symbol.iterator](),
      ""[Symbol.iterator](), (function* () {})(), "a".matchAll(/a/g), new Uint8Array()]) {
      for (let up = getPrototypeOf(sample); up !== null && !frozen.has(up); up = getPrototypeOf(up)) shut(up);
    }
    shut(globalThis);
  };
  return { harden, deepFreeze };
})
