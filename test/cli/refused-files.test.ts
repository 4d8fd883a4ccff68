/**
 * What commands and a start say of files and folders that the system refuses: whom, what, and why, in one line. The
 * program runs as a user who is not root, because root may use everything.
 */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, copyFileSync, cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { one } from "../support/certificates.ts";
import { programPath, type Ran, run } from "../support/program.ts";
import { root } from "../support/root.ts";
import { runHere } from "../support/terminal.ts";

const isRoot = process.getuid?.() === 0;
const guest = 65_534;
const owner = userInfo().username;
const user = isRoot ? spawnSync("id", ["-nu", String(guest)], { encoding: "utf8" }).stdout.trim() || String(guest) : owner;

/** Everything of these tests. */
let folder = "";
/** The program, which first becomes the guest if this is root: in a copy that the guest can read. */
let program = programPath;

before(() => {
  folder = mkdtempSync(join(tmpdir(), "animal-store-"));
  chmodSync(folder, 0o755);
  if (isRoot) {
    program = join(folder, "as-guest.js");
    const become = `process.setgroups([]); process.setgid(${guest}); process.setuid(${guest});`;
    writeFileSync(program, `${become} await import("./dist/server.js");\n`);
    copyFileSync(join(root, "package.json"), join(folder, "package.json"));
    cpSync(join(root, "dist"), join(folder, "dist"), { recursive: true });
    spawnSync("chown", ["-R", `${guest}:${guest}`, join(folder, "dist"), join(folder, "package.json"), program]);
  }
});
after(() => rmSync(folder, { recursive: true }));

/** A new folder, and in it a data folder that everybody may use, with one key and one animal. */
async function filledFolder(): Promise<{ readonly above: string; readonly data: string }> {
  const above = mkdtempSync(join(folder, "case-"));
  const data = join(above, "data");
  assert.equal((await runHere(["keys", "create", "--data", data])).code, 0);
  assert.equal((await runHere(["import", join(root, "data/sample.jsonl"), "--data", data])).code, 0);
  [above, data, join(data, "keys.jsonl"), join(data, "pets.jsonl")].forEach((path) => chmodSync(path, 0o777));
  return { above, data };
}

const start = ["--port", "0"];
const check = ["check"];
const list = ["keys", "list"];
const create = ["keys", "create"];
const add = ["import", "-"];

/** What has which mode, below the folder above, and what of it is refused to which commands. */
const refusals: readonly (readonly [name: string, mode: number, refused: string, commands: readonly (readonly string[])[]])[] = [
  ["", 0, "enter", [start, check, list, create, add]],
  ["data", 0, "enter", [start, check, list, create, add]],
  ["data", 0o555, "write", [start, check, create, add]],
  ["data/keys.jsonl", 0, "read", [start, check, list, create, add]],
  ["data/keys.jsonl", 0o444, "write", [start, check, create, add]],
  ["data/pets.jsonl", 0o444, "write", [start, check, add]],
];

for (const [name, mode, refused, commands] of refusals) {
  const octal = mode.toString(8);
  test(`who cannot ${refused} ${name || "the folder above"} (mode ${octal}) is told in one line by user, path, mode and owner`, async () => {
    const { above, data } = await filledFolder();
    const path = name === "" ? above : join(above, name);
    chmodSync(path, mode);
    try {
      for (const command of commands) {
        const ran = await run([...command, "--data", data], { program });
        assertSaid(ran, command, data, `user ${user} is refused ${path} (mode ${octal}, owner ${owner})`);
      }
    } finally {
      chmodSync(path, 0o777);
    }
  });
}

test("import says of a file that it cannot read who may not, and of one that is not there that it is not", async () => {
  const { above, data } = await filledFolder();
  const file = join(above, "animals.jsonl");
  assert.equal((await run(["import", file, "--data", data], { program })).stderr, `Cannot import ${file}: there is no such file\n`);
  writeFileSync(file, "", { mode: 0 });
  const ran = await run(["import", file, "--data", data], { program });
  assertSaid(ran, add, data, `user ${user} is refused ${file} (mode 0, owner ${owner})`);
});

function assertSaid({ code, stdout, stderr }: Ran, command: readonly string[], data: string, sentence: string): void {
  const about = `${command.join(" ")}: ${stdout}${stderr}`;
  if (command[0] === "check") {
    assert.deepEqual([code, stderr], [1, ""], about);
    assert.ok(stdout.endsWith(`${sentence}\nthe server would not start\n`), about);
    assert.doesNotMatch(stdout, /EACCES/);
  } else if (command[0] === "--port") {
    assert.deepEqual([code, stdout, stderr], [2, "", `Cannot use --data ${data}: ${sentence}\n`], about);
  } else {
    assert.deepEqual([code, stdout, stderr], [1, "", `Cannot run ${command[0]}: ${sentence}\n`], about);
  }
}

test("a certificate or key that cannot be read, or is not there, stops the start with a sentence", async () => {
  const { above, data } = await filledFolder();
  const [cert, key] = [join(above, "cert.pem"), join(above, "key.pem")];
  writeFileSync(cert, one.cert);
  chmodSync(cert, 0);
  const flags = ["--tls-cert", cert, "--tls-key", key, "--data", data];
  const begin = `Cannot use --tls-cert ${cert} with --tls-key ${key}:`;
  const refused = await run([...start, ...flags], { program });
  assert.deepEqual([refused.code, refused.stderr], [2, `${begin} user ${user} is refused ${cert} (mode 0, owner ${owner})\n`]);
  chmodSync(cert, 0o644);
  const absent = await run([...start, ...flags], { program });
  assert.deepEqual([absent.code, absent.stderr], [2, `${begin} ENOENT: no such file or directory, open '${key}'\n`]);
});
