/**
 * Statements that a connection prepares once, and then only executes: the limits of a request that waits alone take
 * PostgreSQL four fifths of the time. A large batch gains nothing.
 *
 * Behind a pooler in transaction mode, the next transaction may be on another connection. PostgreSQL then says that the
 * name is unknown, or in use already. The statement has not run, so it is sent again without a name, as all later ones.
 */

import { hash } from "node:crypto";

import { sqlState } from "./database-error.ts";
import type { PoolClient, Row } from "./pool.ts";

/** The SQLSTATEs of the two: invalid_sql_statement_name and duplicate_prepared_statement. */
const otherConnectionStates: ReadonlySet<string | undefined> = new Set(["26000", "42P05"]);

export class PreparedStatements {
  #isPossible = true;

  async query(client: PoolClient, text: string, values: unknown[]): Promise<{ readonly rows: readonly Row[] }> {
    if (this.#isPossible) {
      try {
        // Made from the text, so that the name never means the statement of another release.
        return await client.query({ name: hash("sha256", text, "base64url"), text, values });
      } catch (error) {
        if (!otherConnectionStates.has(sqlState(error))) {
          throw error;
        }
        this.#isPossible = false;
      }
    }
    return client.query({ text, values });
  }
}
