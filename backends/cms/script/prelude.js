// What every runtime has before a site's code comes in: helpers that take much memory
// are bounded, and what all requests of a runtime see cannot be changed.
(function (limits, parse, stringLength) {
  "use strict";
  const { defineProperty, getOwnPropertyDescriptor, getOwnPropertyNames, getPrototypeOf, freeze } = Object;
  const ownKeys = Reflect.ownKeys, apply = Reflect.apply, construct = Reflect.construct;
  const RawArray = Array, isArray = Array.isArray;
  const tooLarge = (what) => new RangeError(what + " would take more than 16 MiB");
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
    if (count > 0 && stringLength(this) * count > limits.bytes) throw tooLarge("repeat");
    return apply(raw, this, [count]);
  } }).f);
  for (const name of ["padStart", "padEnd"]) {
    replace(String.prototype, name, (raw) => ({ f(length, fill) {
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
  replace(String.prototype, "replaceAll", (raw) => ({ f(what, by) {
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
    const length = this.length >>> 0;
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
    if (items != null && typeof items === "object" && items[Symbol.iterator] === undefined) many("Array.from", items.length);
    return apply(raw, this, [items, ...more]);
  } }).f);
  // A class that stands for another one: the engine asks it what its instances are.
  const ordinary = Function.prototype[Symbol.hasInstance], isPrototypeOf = Object.prototype.isPrototypeOf;
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
        const size = typeof args[0] === "number" ? args[0] : args[0] != null && args[0].length;
        if (size * width > limits.bytes) throw tooLarge(name);
        return construct(target, args, made === Bound ? target : made);
      },
    });
    stands(Raw, Bound);
  }

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
