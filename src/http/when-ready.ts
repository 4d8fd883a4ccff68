/**
 * A store returns a value or a promise of one. Awaiting a value that is ready costs more than finding an animal in
 * memory.
 */

/** Calls `next` with the value: at once if it is ready, else when the promise resolves. */
export function whenReady<Value, Result>(
  value: Value | Promise<Value>,
  next: (value: Value) => Result,
): Result | Promise<Result> {
  return isPending(value) ? value.then(next) : next(value);
}

/** Not `instanceof`: the promise may come from another realm. */
export function isPending<Value>(value: Value | Promise<Value>): value is Promise<Value> {
  return typeof value === "object" && value !== null && "then" in value;
}
