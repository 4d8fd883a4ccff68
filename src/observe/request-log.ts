/**
 * The request log: one JSON line for each request. Lines are collected for a moment and written together, because one
 * write for each request would cost more than the request.
 */

/** The members of a line, in this order. None of them contains a credential or the request target. */
export interface RequestLine {
  /** When the request arrived, ISO 8601. */
  readonly time: string;
  /** The X-Request-Id of the response. */
  readonly id: string;
  /** "" if the bytes were not a request. */
  readonly method: string;
  /** The route's pattern; "none" if the request was refused before it was routed. */
  readonly route: string;
  /** 0 if the connection broke before the response. */
  readonly status: number;
  readonly ms: number;
  /** Length of the response's content. */
  readonly bytes: number;
  /** The key's id; null without a valid key. */
  readonly key: string | null;
  readonly address: string;
  /** The trace id of a well-formed `traceparent`, else null (W3C Trace Context). */
  readonly trace: string | null;
}

const flushDelayMs = 100;
const pendingCharactersMax = 65_536;

export class RequestLog {
  readonly #write: (text: string) => void;
  #pending = "";
  #timer: NodeJS.Timeout | undefined;

  constructor(write: (text: string) => void) {
    this.#write = write;
  }

  add(line: RequestLine): void {
    this.#pending += `${JSON.stringify(line)}\n`;
    if (this.#pending.length >= pendingCharactersMax) {
      this.flush();
    } else {
      this.#timer ??= setTimeout(() => this.flush(), flushDelayMs).unref();
    }
  }

  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const text = this.#pending;
    this.#pending = "";
    if (text !== "") {
      this.#write(text);
    }
  }
}
