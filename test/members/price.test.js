/**
 * The worked example of src/README.md: its difference gives an animal a price. Here it is applied to a copy, which is
 * built, driven through everything that an animal passes, on a folder and on a database, and thrown away.
 */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { pathToFileURL } from "node:url";
import { createKey, run, start } from "../../build/test/support/program.js";
import { add as addAtPage, closeBrowser, enterKey, notice, openConsole, pressInMenu, skip as skipBrowser } from "../browser/console.js";
import { skip as skipPostgres, startPostgres } from "../postgres/postgres-server.js";

const project = join(import.meta.dirname, "..", "..");
const folder = mkdtempSync(join(tmpdir(), "animal-store-price-"));
const copy = join(folder, "copy");
const how = { program: join(copy, "dist", "server.js") };
const postgres = await startPostgres();

after(async () => {
  await closeBrowser();
  await postgres?.stop();
  rmSync(folder, { recursive: true });
});

test("the difference applies, and what it makes builds", () => {
  const listed = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard"], { cwd: project, encoding: "utf8" });
  for (const path of listed.trim().split("\n").filter((one) => /^(src\/|package\.json$|tsconfig\.json$)/.test(one))) {
    mkdirSync(dirname(join(copy, path)), { recursive: true });
    cpSync(join(project, path), join(copy, path));
  }
  mkdirSync(join(copy, "node_modules"));
  for (const modules of [join(project, "node_modules"), join(project, "test", "postgres", "node_modules")]) {
    const missing = readdirSync(modules).filter((name) => !existsSync(join(copy, "node_modules", name)));
    missing.forEach((name) => symlinkSync(join(modules, name), join(copy, "node_modules", name)));
  }
  const [, difference] = /^```diff\n(.*?)^```$/ms.exec(readFileSync(join(project, "src", "README.md"), "utf8"));
  execFileSync("git", ["apply", "-p0"], { cwd: copy, input: difference });
  execFileSync("npm", ["run", "--silent", "build"], { cwd: copy, stdio: "inherit" });
});

const priceMax = "9223372036854775807";
const priceMin = "-9223372036854775808";
const rex = `{"id":1,"name":"Rex","categoryId":5,"price":${priceMax},"status":"available"}`;
const misty = '{"id":2,"name":"Misty","categoryId":7,"status":"available"}';
const bo = '{"id":3,"name":"Bo","categoryId":7,"price":-1,"status":"available"}';

const places = {
  "a folder": { skip: false, create: () => ["--data", join(folder, "data")] },
  "a database": { skip: skipPostgres, create: async () => ["--database", await postgres.createDatabase()] },
};

for (const [name, { skip, create }] of Object.entries(places)) {
  test(`on ${name} an animal has its price wherever it is sent, stored and shown`, { skip }, async (context) => {
    const place = await create();
    const key = await createKey(place, "enterprise", how);
    let program = await start(context, place, how);
    const call = async (path, method = "GET", body = undefined, headers = {}) => {
      const own = { Authorization: `Bearer ${key}`, "Content-Type": "application/json", ...headers };
      const response = await fetch(`${program.url}${path}`, { method, body, headers: own });
      return [response.status, await response.text()];
    };
    const add = (body, headers) => call("/pets", "POST", body, headers);
    const refused = async (body, message) => assert.ok((await add(body))[1].includes(message), message);

    assert.deepEqual(await add(`{"name":"Rex","categoryId":5,"price":${priceMax}}`), [201, rex]);
    assert.deepEqual(await add('{"name":"Misty","categoryId":7}'), [201, misty]);
    const once = { "Idempotency-Key": "bo" };
    for (let time = 0; time < 2; time += 1) {
      assert.deepEqual(await add('{"price":-1,"name":"Bo","categoryId":7}', once), [201, bo]);
    }
    assert.equal((await add('{"name":"Bo","categoryId":7,"price":-2}', once))[0], 422);
    assert.equal((await add('{"name":"Bo","categoryId":7}', once))[0], 422);
    await refused('{"name":"x","categoryId":7,"price":null}', '\\"price\\" must be an integer, received null');
    await refused('{"name":"x","categoryId":7,"price":"5"}', '\\"price\\" must be an integer, received a string');
    await refused('{"name":"x","categoryId":7,"price":9223372036854775808}', '\\"price\\" must be an integer from');
    const change = (id, body, headers) => call(`/pets/${id}`, "PATCH", body, { "If-Match": "*", ...headers });
    const sold = rex.replace("available", "sold");
    assert.deepEqual(await change(1, '{"status":"sold"}'), [200, sold]);
    assert.deepEqual(await call("/pets/1"), [200, sold]);
    const max = { "Idempotency-Key": "max" };
    const corrected = sold.replace("Rex", "Max").replace('"categoryId":5', '"categoryId":8');
    assert.deepEqual(await change(1, '{"name":"Max","categoryId":8}', max), [200, corrected]);
    assert.deepEqual((await call("/pets?categoryId=8"))[1], `[${corrected}]`);
    assert.deepEqual(await change(1, `{"name":"Rex","categoryId":5,"price":${priceMin}}`), [200, sold.replace(priceMax, priceMin)]);
    assert.deepEqual(await change(1, `{"price":${priceMax}}`), [200, sold]);
    assert.deepEqual(await change(1, '{"categoryId":8}', max), [200, corrected]);
    assert.equal((await change(1, `{"price":${priceMin}}`, max))[0], 422);
    assert.match((await change(1, '{"price":null}'))[1], /\\"price\\" must be an integer, received null/);
    assert.deepEqual(await change(2, '{"price":0}'), [200, misty.replace(',"status"', ',"price":0,"status"')]);
    assert.deepEqual(await call("/pets/2", "DELETE", undefined, { "If-Match": '"available-2"' }), [204, ""]);
    assert.deepEqual(await call("/pets?status=available"), [200, `[${bo}]`]);

    const lines = join(folder, "lines.jsonl");
    writeFileSync(lines, '{"name":"Imp","categoryId":1,"price":12345678901234567}\n{"name":"Imp","categoryId":1}\n');
    assert.equal((await run(["import", lines, ...place], how)).code, 0);
    const imps = (id) => `{"id":${id},"name":"Imp","categoryId":1,"price":12345678901234567,"status":"available"},` +
      `{"id":${id + 1},"name":"Imp","categoryId":1,"status":"available"}`;
    assert.equal((await call("/pets?after=3"))[1], `[${imps(4)}]`);

    const description = await (await fetch(`${program.origin}/openapi.json`)).json();
    const { NewPet, Pet } = description.components.schemas;
    assert.deepEqual([Object.keys(NewPet.properties), NewPet.required], [["name", "categoryId", "price", "status"], ["name", "categoryId"]]);
    assert.deepEqual([Object.keys(Pet.properties), Pet.required], [["id", "name", "categoryId", "price", "status"], ["id", "name", "categoryId", "status"]]);

    const { AnimalStoreClient } = await import(pathToFileURL(join(copy, "dist", "client", "client.js")));
    const { pets } = new AnimalStoreClient({ url: program.url, key });
    assert.deepEqual(await pets.add({ name: "Cli", categoryId: 1, price: 2n ** 63n - 1n }), {
      id: 6, name: "Cli", categoryId: 1, price: 2n ** 63n - 1n, status: "available", version: 1,
    });
    assert.equal((await pets.add({ name: "Cli", categoryId: 1, price: 5 })).price, 5);
    assert.equal((await pets.get(1)).price, 2n ** 63n - 1n);
    assert.ok(!("price" in (await pets.get(5))));
    await assert.rejects(pets.add({ name: "x", categoryId: 1, price: "5" }), { name: "RangeError", message: /^price must be/ });

    if (skipBrowser === false) {
      const { page } = await openConsole(context, program);
      await enterKey(page, key);
      await addAtPage(page, "Paged");
      await notice(page, "Animal 8 is added: Paged");
      await pressInMenu(page, 1, "Correct");
      await page.locator("#animal[open] #name").fill("Rexy");
      await page.locator("#save").click();
      await notice(page, "Animal 1 is corrected: Rexy");
      assert.deepEqual(await call("/pets/1"), [200, sold.replace("Rex", "Rexy")], "its price is as it was");
    } else {
      await add('{"name":"Paged","categoryId":1}');
    }

    const before = (await call("/pets"))[1];
    assert.equal(await program.stop(), 0);
    program = await start(context, place, how);
    assert.equal((await call("/pets"))[1], before);
    assert.equal(await program.stop(), 0);
    assert.equal((await run(["import", lines, ...place], how)).code, 0);
    if (name === "a database") {
      return; // Which cannot be exported.
    }
    const target = join(folder, "exported");
    const exported = await run(["export", target, ...place], how);
    assert.equal(exported.code, 0, exported.stderr);
    program = await start(context, ["--data", target], how);
    assert.equal((await call("/pets"))[1], `${before.slice(0, -1)},${imps(9)}]`);
    assert.deepEqual(await change(1, '{"categoryId":8}', max), [200, corrected]);
    assert.equal(await program.stop(), 0);
    if (skipPostgres === false) {
      const moved = await places["a database"].create();
      const imported = await run(["import", target, ...moved], how);
      assert.equal(imported.code, 0, imported.stderr);
      program = await start(context, moved, how);
      assert.equal((await call("/pets"))[1], `${before.slice(0, -1)},${imps(9)}]`);
      assert.deepEqual(await add('{"price":-1,"name":"Bo","categoryId":7}', once), [201, bo]);
      assert.deepEqual(await change(1, '{"categoryId":8}', max), [200, corrected]);
      assert.equal(await program.stop(), 0);
    }
  });
}
