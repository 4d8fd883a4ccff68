/**
 * The part of a connection pool that is used. `Pool` of the package `pg` fits; this project imports no client.
 */

export type Row = Readonly<Record<string, unknown>>;

export interface PoolClient {
  /** The connection prepares a statement with a name when the name is new to it. */
  query(statement: {
    readonly text: string;
    readonly values: unknown[];
    readonly name?: string;
  }): Promise<{ readonly rows: readonly Row[] }>;
  on(event: "error", listener: (error: Error) => void): unknown;
  off(event: "error", listener: (error: Error) => void): unknown;
  /** @param destroy closes the connection instead of keeping it for the next caller */
  release(destroy?: boolean): void;
}

export interface DatabasePool {
  connect(): Promise<PoolClient>;
  on(event: "error", listener: (error: Error) => void): unknown;
  off(event: "error", listener: (error: Error) => void): unknown;
}

/** What a statement returned as JSON, in the column "answer" of its one row. Clients read rows and columns slowly. */
export function answerOf([row]: readonly Row[]): unknown {
  return JSON.parse(String(row?.["answer"]));
}
