/**
 * A hot standby: it follows a primary by streaming replication, and only reads.
 */

import { spawnSync } from "node:child_process";
import { appendFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { freePort } from "../../build/test/support/free-port.js";
import { until } from "../../build/test/support/until.js";
import { PostgresServer } from "./postgres-server.js";
import { ownFolder } from "./installation.js";

/** Copies the primary and starts the copy. Its name for `synchronous_standby_names` is "standby". */
export async function startStandby(primary) {
  const folder = ownFolder("standby");
  const data = join(folder, "data");
  await copyData(primary, data);
  const source = `host=127.0.0.1 port=${primary.port} user=app application_name=standby`;
  appendFileSync(join(data, "postgresql.auto.conf"), `primary_conninfo = '${source}'\n`);
  writeFileSync(join(data, "standby.signal"), "");
  spawnSync("chown", ["--reference", data, join(data, "standby.signal"), join(data, "backup_label")]);
  const standby = new Standby(primary.release, primary.bin, folder, await freePort());
  await standby.start();
  return standby;
}

class Standby extends PostgresServer {
  /** Resolves when it shows what is committed on the primary at this moment. */
  async catchUp(primary) {
    const [{ lsn }] = await primary.query("SELECT pg_current_wal_flush_lsn()::text AS lsn");
    const question = "SELECT pg_last_wal_replay_lsn() >= $1::pg_lsn AS has";
    await until("the standby has caught up", async () => (await this.query(question, [lsn]))[0].has);
  }

  /** Makes a primary of it. */
  async promote() {
    await this.query("SELECT pg_promote()");
  }
}

/** pg_basebackup does this too, but npm's package has none. */
async function copyData(primary, data) {
  const client = new pg.Client({ connectionString: primary.url() });
  await client.connect();
  await client.query("SELECT pg_backup_start('standby', fast => true)");
  spawnSync("cp", ["-a", join(primary.folder, "data"), data]); // A file that vanishes meanwhile is no loss.
  const { rows } = await client.query("SELECT labelfile FROM pg_backup_stop(false)");
  await client.end();
  rmSync(join(data, "postmaster.pid"));
  spawnSync("find", [join(data, "pg_wal"), "-type", "f", "-delete"]); // The primary sends it.
  writeFileSync(join(data, "backup_label"), rows[0].labelfile);
}
