/** The part of a connection pool that is used, which `Pool` of the package `pg` fits, and how statements are sent. */

export type Row = Readonly<Record<string, unknown>>;

export interface Notice {
  /** The function of PostgreSQL that says it, in every language. */
  readonly routine?: string | undefined;
}

export interface Result {
  readonly rows: readonly Row[];
}

export interface Statement {
  /** Without values, several may be one text: then there is a result of each. */
  readonly text: string;
  readonly values: unknown[];
  readonly name?: string;
}

export interface PoolClient {
  /** The connection prepares a statement with a name when the name is new to it. */
  query(statement: Statement): Promise<Result | readonly Result[]>;
  on(event: "error", listener: (error: Error) => void): unknown;
  on(event: "notice", listener: (notice: Notice) => void): unknown;
  off(event: "error", listener: (error: Error) => void): unknown;
  off(event: "notice", listener: (notice: Notice) => void): unknown;
  /** @param destroy closes the connection instead of keeping it for the next caller */
  release(destroy?: boolean): void;
}

export interface DatabasePool {
  connect(): Promise<PoolClient>;
  on(event: "error", listener: (error: Error) => void): unknown;
  /** Before it hands a new connection over, and in the same turn. */
  on(event: "connect", listener: (client: PoolClient) => void): unknown;
  off(event: "error", listener: (error: Error) => void): unknown;
  off(event: "connect", listener: (client: PoolClient) => void): unknown;
}

/** If the wait for a standby is canceled, PostgreSQL commits and only warns. @throws {Error} the standby may lack it */
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

/** What a statement returned as JSON, in the column "answer" of its one row. Clients read rows and columns slowly. */
export function answerOf([row]: readonly Row[]): unknown {
  return JSON.parse(String(row?.["answer"]));
}
