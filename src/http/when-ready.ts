/**
 * A store may have an answer at hand or have to wait for it. Waiting for what is there would cost more than to find an
 * animal in memory does.
 */

/** `next` of the value: at once where it is there, else when it comes. */
export function whenReady<Value, Result>(
  value: Value | Promise<Value>,
  next: (value: Value) => Result,
): Result | Promise<Result> {
  return isPending(value) ? value.then(next) : next(value);
}

/** Not `instanceof`: a store may have been loaded into another realm than we were. */
export function isPending<Value>(value: Value | Promise<Value>): value is Promise<Value> {
  return typeof value === "object" && value !== null && "then" in value;
}
