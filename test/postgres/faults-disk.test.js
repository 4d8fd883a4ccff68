import assert from "node:assert/strict";
import { after, test } from "node:test";
import { startPostgres } from "./postgres-server.js";
import { health, startService, timeUntil } from "./faults.js";
import { createDatabaseOnSmallDisk, skipSmallDisk } from "./small-disk.js";

const postgres = await startPostgres();
after(() => postgres?.stop());

test("on a full disk creates get 503 and reads go on; with room again, everything works", { skip: skipSmallDisk }, async (context) => {
  const disk = await createDatabaseOnSmallDisk(postgres);
  const { instances, clients: [client] } = await startService(context, [disk.url]);
  const add = (number) => client.add({ name: `${number} ${"x".repeat(200)}`, categoryId: 1 });
  assert.equal((await add(1)).status, 201);
  disk.fill();
  let added = 1;
  let refusal;
  while (refusal === undefined) { // The pages that there are take some more.
    const response = await add(added + 1);
    if (response.status === 201) {
      added += 1;
    } else {
      refusal = response;
    }
  }
  assert.deepEqual([refusal.status, JSON.parse(refusal.text).code], [503, "storage_unavailable"]);
  for (let round = 0; round < 300; round += 1) {
    const { status, headers } = await client.get(`/v1/pets/${added}`);
    assert.deepEqual([status, Number(headers["x-ratelimit-remaining"])], [200, 999_999 - added - 1 - round]);
  }
  const [{ count }] = await postgres.query("SELECT count(*)::int AS count FROM animal_store.pets", [], disk.url);
  assert.equal(count, added);
  disk.free();
  const recoveryMs = await timeUntil("creates work again", async () => (await add(added + 1)).status === 201);
  assert.ok(recoveryMs < 2_000, `${recoveryMs} ms`);
  assert.deepEqual([await health(client), JSON.parse((await client.get(`/v1/pets/${added + 1}`)).text).id], [200, added + 1]);
  assert.ok(instances[0].reports().split("\n").length < 5, instances[0].reports());
});
