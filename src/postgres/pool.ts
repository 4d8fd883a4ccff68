/** The part of a connection pool that the engine uses, which `Pool` of the package `pg` has, and how it is used. */

export type Row = Readonly<Record<string, unknown>>;

export interface Notice {
  /** The function of PostgreSQL that wrote the notice: it does not depend on the server's language. */
  readonly routine?: string | undefined;
}

export interface Result {
  readonly rows: readonly Row[];
}

export interface Statement {
  /** One statement; or, if there are no values, several, each of which has a result. */
  readonly text: string;
  readonly values: unknown[];
  readonly name?: string;
}

export interface PoolClient {
  /** Sends a statement. If it has a name that is new to the connection, it is prepared under that name. */
  query(statement: Statement): Promise<Result | readonly Result[]>;
  on(event: "error", listener: (error: Error) => void): unknown;
  on(event: "notice", listener: (notice: Notice) => void): unknown;
  off(event: "error", listener: (error: Error) => void): unknown;
  off(event: "notice", listener: (notice: Notice) => void): unknown;
  /** @param destroy closes the connection instead of keeping it for the next caller */
  release(destroy?: boolean): void;
}

export interface DatabasePool {
  /** Those that a `Pool` was made with. */
  readonly options?: { readonly connectionTimeoutMillis?: number | undefined } | undefined;
  connect(): Promise<PoolClient>;
  on(event: "error", listener: (error: Error) => void): unknown;
  /** The listener is called before the pool hands over a new connection, in the same turn. */
  on(event: "connect", listener: (client: PoolClient) => void): unknown;
  off(event: "error", listener: (error: Error) => void): unknown;
  off(event: "connect", listener: (client: PoolClient) => void): unknown;
}

/** If its wait for a standby is canceled, PostgreSQL commits and only warns. @throws {Error} a standby may lack it */
export async function sendReplicated(client: PoolClient, statement: Statement): Promise<readonly Row[]> {
  let isReplicated = true;
  const hear = ({ routine }: Notice): void => {
    isReplicated &&= routine !== "SyncRepWaitForLSN";
  };
  client.on("notice", hear);
  try {
    const results = await client.query(statement);
    if (!isReplicated) {
      throw new Error("the wait for the standby was canceled");
    }
    return [results].flat().at(-1)?.rows ?? [];
  } finally {
    client.off("notice", hear);
  }
}

/** Parses the JSON in the column "answer" of the one row: `pg` reads that faster than many rows and columns. */
export function answerOf([row]: readonly Row[]): unknown {
  return JSON.parse(String(row?.["answer"]));
}
