/** Runs asynchronous work one piece at a time, in the order given. A failure does not stop the next piece. */
export class SerialQueue {
  #last: Promise<unknown> = Promise.resolve();

  /** Resolves or rejects as the work does. */
  run<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = this.#last.then(work);
    this.#last = result.catch(() => undefined); // The caller of `run` handles the failure.
    return result;
  }

  /** Resolves when all work given before the call has ended. */
  async idle(): Promise<void> {
    await this.#last;
  }
}
