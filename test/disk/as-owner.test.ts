/**
 * Root in another user's folder: that user puts links where files are made, emptied or renamed, and in the place of the
 * folder, and nothing of root's changes, nor can be read by that user. The program lies where that user cannot read it.
 */

import assert from "node:assert/strict";
import {
  chmodSync, chownSync, copyFileSync, cpSync, existsSync, lchownSync, lstatSync, mkdirSync, mkdtempSync, readdirSync,
  readFileSync, realpathSync, rmSync, statSync, symlinkSync, writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { run, start } from "../support/program.ts";
import { root } from "../support/root.ts";
import { runHere } from "../support/terminal.ts";

const skip = process.getuid?.() === 0 ? false : "needs root, to be two users";
const guest = 65_534;
const secret = "of root alone";

let base = "";
let program = "";
let count = 0;
before(() => {
  base = mkdtempSync(join(tmpdir(), "animal-store-"));
  chmodSync(base, 0o755);
  mkdirSync(join(base, "program"), { mode: 0o700 });
  cpSync(join(root, "dist"), join(base, "program", "dist"), { recursive: true });
  copyFileSync(join(root, "package.json"), join(base, "program", "package.json"));
  program = join(base, "program", "dist", "server.js");
});
after(() => rmSync(base, { recursive: true }));

function give(path: string, user = guest): void {
  chownSync(path, user, user);
  if (statSync(path).isDirectory()) {
    readdirSync(path).forEach((name) => give(join(path, name), user));
  }
}

/** A folder that everybody may enter, and in it one of root's with a file that root's group may read, too. */
function place(): { readonly above: string; readonly ofRoot: string } {
  const above = join(base, String(count++));
  const ofRoot = join(above, "of-root");
  mkdirSync(ofRoot, { recursive: true });
  writeFileSync(join(ofRoot, "secret"), secret, { mode: 0o640 });
  return { above, ofRoot };
}

let filled = "";
/** The guest's data folder, with a key and animals. */
async function dataOf(above: string): Promise<string> {
  if (filled === "") {
    filled = join(base, "filled");
    await runHere(["keys", "create", "--data", filled]);
    await runHere(["import", join(root, "data/sample.jsonl"), "--data", filled]);
  }
  const data = join(above, "data");
  cpSync(filled, data, { recursive: true });
  give(data);
  return data;
}

/** Nothing of root's is changed or made, and the guest has no copy of what only root may read. */
function assertUntouched({ above, ofRoot }: ReturnType<typeof place>, what: string): void {
  assert.deepEqual(readdirSync(ofRoot), ["secret"], what);
  const { uid, mode } = statSync(join(ofRoot, "secret"));
  assert.deepEqual([readFileSync(join(ofRoot, "secret"), "utf8"), uid, mode & 0o777], [secret, 0, 0o640], what);
  for (const name of readdirSync(above, { recursive: true, encoding: "utf8" })) {
    const path = join(above, name);
    if (lstatSync(path).isFile() && !realpathSync(path).startsWith(ofRoot)) {
      assert.ok(!readFileSync(path, "utf8").includes(secret), `${what}: ${path}`);
    }
  }
}

function assertGuests(path: string, user = guest): void {
  const names = readdirSync(path, { recursive: true, encoding: "utf8" });
  for (const one of [path, ...names.map((name) => join(path, name))]) {
    assert.deepEqual([lstatSync(one).uid, lstatSync(one).gid], [user, user], one);
  }
}

/** Every file that a command or a server makes, empties or renames in a data folder, or in one that it fills. */
const names = [
  ...["keys.jsonl", "keys.jsonl.torn", "keys.jsonl.new", "pets.jsonl", "pets.jsonl.torn", "pets.jsonl.copy"],
  ...["limits.json", "limits.json.new", "limits.json.damaged", "export.unfinished", "server.lock"],
];

const writing: readonly ((data: string, target: string) => readonly string[])[] = [
  (data) => ["keys", "create", "--data", data],
  (data) => ["import", join(root, "data/sample.jsonl"), "--data", data],
  (data, target) => ["export", target, "--data", data],
  (data, target) => ["check", "--data", data, "--salvage", target],
];
const checking = (data: string): readonly string[] => ["check", "--data", data];
const [create, add, copy, salvage] = writing as [(typeof writing)[0], (typeof writing)[0], (typeof writing)[0], (typeof writing)[0]];

/** Each takes some seconds, so all are tried only with LINKS=all. */
for (const name of process.env["LINKS"] === "all" ? names : ["pets.jsonl.torn"]) {
  test(`no command of root, and no server, follows a link of the folder's user at ${name}`, { skip }, async (context) => {
    for (const linked of ["secret", "absent"]) {
      for (let index = 0; index < writing.length + 1; index++) {
        const where = place();
        const data = await dataOf(where.above);
        const target = join(where.above, "target");
        mkdirSync(target);
        writeFileSync(join(target, "export.unfinished"), "");
        // Torn and damaged ends are moved aside.
        writeFileSync(join(data, "keys.jsonl"), "* * * * * root a line of the guest's\n", { flag: "a" });
        writeFileSync(join(data, "pets.jsonl"), "* * * * * root a line of the guest's\n", { flag: "a" });
        writeFileSync(join(data, "limits.json"), "damaged");
        for (const folder of [data, target]) {
          rmSync(join(folder, name), { force: true });
          symlinkSync(join(where.ofRoot, linked), join(folder, name));
          chownSync(folder, guest, guest);
        }
        const command = writing[index]?.(data, target);
        if (command === undefined) {
          await start(context, ["--data", data], { program }).then((server) => server.stop(), () => undefined);
        } else {
          await run(command, { program });
        }
        assertUntouched(where, `${linked}: ${command?.join(" ") ?? "a server"}`);
      }
    }
  });
}

test("commands of root work in another user's folder, and what they make there is that user's", { skip }, async () => {
  const where = place();
  const data = await dataOf(where.above);
  const target = join(where.above, "new", "target");
  for (const command of [create(data, ""), add(data, ""), copy(data, target), checking(data), salvage(data, join(where.above, "salvaged"))]) {
    const { code, stderr } = await run(command, { program });
    assert.deepEqual([code, stderr.replace(/^made key_.*\n/, "")], [0, ""], command.join(" "));
  }
  ["data", "new", "salvaged"].forEach((name) => assertGuests(join(where.above, name)));
  const home = join(where.above, "home");
  mkdirSync(home);
  give(home);
  assert.equal((await run(["keys", "create", "--data", join(home, "a", "b")], { program })).code, 0);
  assertGuests(home);
  symlinkSync(data, join(where.above, "link"));
  assert.equal((await run(["keys", "create", "--data", join(where.above, "link")], { program })).code, 0);
  assertGuests(data);
  assertUntouched(where, "all of them");
});

test("root's groups are given up, too, also where the folder's group is root's: what they may read stays unread", { skip }, async () => {
  const { above, ofRoot } = place();
  const data = await dataOf(above);
  rmSync(join(data, "keys.jsonl"));
  symlinkSync(join(ofRoot, "secret"), join(data, "keys.jsonl"));
  for (const group of [guest, 0]) {
    chownSync(data, guest, group);
    const { code, stderr } = await run(["keys", "list", "--data", data], { program });
    assert.equal(code, 1);
    assert.match(stderr, /^Cannot run keys: user \S+ cannot read \S+keys\.jsonl \(mode 640, owner root\)\n$/);
  }
});

test("in the folder of a user without a name, a command of root has the folder's group", { skip }, async () => {
  const { above } = place();
  const data = await dataOf(above);
  chownSync(above, 0, 54_321);
  chmodSync(above, 0o750);
  give(data, 54_321);
  const { code, stderr } = await run(["keys", "create", "--data", data], { program });
  assert.deepEqual([code, stderr.replace(/^made key_.*\n/, "")], [0, ""]);
  assertGuests(data, 54_321);
});

test("a link of another user in the place of the folder is not root's to follow", { skip }, async (context) => {
  for (const linked of [".", "absent"]) {
    const where = place();
    const data = join(where.above, "data");
    symlinkSync(join(where.ofRoot, linked), data);
    chmodSync(where.above, 0o755);
    lchownSync(data, guest, guest);
    await assert.rejects(start(context, ["--data", data], { program }), /link of user|not a folder, nor a link to one/);
    assertUntouched(where, `${linked}: a server`);
    for (const command of [...writing, checking].map((one) => one(data, join(where.above, "target")))) {
      assert.notEqual((await run(command, { program })).code, 0, command.join(" "));
      assertUntouched(where, `${linked}: ${command.join(" ")}`);
    }
  }
});

test("in a folder of root's that a group can write to, root writes through no link", { skip }, async (context) => {
  for (const command of [create, add, undefined]) {
    const where = place();
    const data = await dataOf(where.above);
    chownSync(data, 0, guest);
    chmodSync(data, 0o770);
    for (const name of ["keys.jsonl", "pets.jsonl"]) {
      writeFileSync(join(data, name), "a line of the group's\n", { flag: "a" });
      symlinkSync(join(where.ofRoot, "absent"), join(data, `${name}.torn`));
    }
    if (command === undefined) {
      await start(context, ["--data", data], { program }).then((server) => server.stop());
    } else {
      const { code, stderr } = await run(command(data, ""), { program });
      assert.equal(code, 1);
      assert.match(stderr, /\.torn is a link in a folder that others can write to, which root does not follow/);
    }
    assertUntouched(where, String(command));
  }
});

test("in a folder of root's that a group can write to, root reads through no link", { skip }, async (context) => {
  const { above, ofRoot } = place();
  const data = await dataOf(above);
  chownSync(data, 0, guest);
  chmodSync(data, 0o770);
  for (const [name, command] of [["pets.jsonl", "check"], ["keys.jsonl", "keys list"], ["limits.json", undefined]] as const) {
    rmSync(join(data, name), { force: true });
    symlinkSync(join(ofRoot, "secret"), join(data, name));
    const refusal = new RegExp(`${name} is a link in a folder that others can write to, which root does not follow`);
    if (command === undefined) {
      await assert.rejects(start(context, ["--data", data], { program }), refusal);
    } else {
      const { stdout, stderr } = await run([...command.split(" "), "--data", data], { program });
      assert.match(stdout + stderr, refusal);
    }
    rmSync(join(data, name));
  }
});

test("a folder of root's that is there already is no target for another user's animals", { skip }, async () => {
  const where = place();
  const data = await dataOf(where.above);
  const target = join(where.above, "target");
  mkdirSync(target);
  for (const command of [["export", target], ["check", "--salvage", target]]) {
    const { code, stderr } = await run([...command, "--data", data], { program });
    assert.equal(code, 1);
    assert.match(stderr, /^Cannot write to \S+: it is root's, and \S+ belongs to user \S+: name a folder that is not there yet\n$/);
  }
  assert.deepEqual([statSync(target).uid, readdirSync(target)], [0, []]);
});

test("a server of root in another user's folder says to start it as that user; check is that user", { skip }, async (context) => {
  const { above } = place();
  const data = await dataOf(above);
  const remark = /^warning: root serves \S+, which user \S+ can change: start it as that user$/m;
  const server = await start(context, ["--data", data], { program });
  await server.stop();
  assert.match(server.output().stderr, remark);
  assertGuests(data);
  assert.match((await run(["check", "--data", data], { program })).stdout, /^\S+ has 48 animals, 1 key\nthe server would start\n$/);
  assert.equal(existsSync(join(data, "server.lock")), false);
  const refusal = /^2 Cannot use --data \S+: (Cannot read \S+: )?\S+\.jsonl? is a link .*which root does not follow: start it as user \S+\n$/;
  for (const name of ["limits.json", "pets.jsonl"]) { // One is read, the other is opened to append.
    rmSync(join(data, name), { force: true });
    symlinkSync(join(above, "elsewhere"), join(data, name));
    const { code, stderr } = await run(["--port", "0", "--data", data], { program });
    assert.match(`${code} ${stderr}`, refusal, name);
    rmSync(join(data, name));
  }
});
