/**
 * The request log: one JSON line a request, gathered for a moment and written together, since a write a request would
 * cost more than answering it.
 */

/** Members as the contract lists them (section 1). Nothing in it holds a credential or the target. */
export interface RequestLine {
  /** When the request arrived, ISO 8601. */
  readonly time: string;
  /** The X-Request-Id of the response. */
  readonly id: string;
  /** "" where what came was no request. */
  readonly method: string;
  /** The route's pattern; "none" where the request was refused before its route was known. */
  readonly route: string;
  /** 0 where the client had gone before it could be answered. */
  readonly status: number;
  readonly ms: number;
  /** Of the response's content. */
  readonly bytes: number;
  /** The key's id; null without a valid key. */
  readonly key: string | null;
  readonly address: string;
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
