/**
 * Root in another user's place: that user puts links in the place of the folder, of a part of the way to it, and of its
 * files, and nothing of root's is read or changed.
 */

import assert from "node:assert/strict";
import { once } from "node:events";
import { chmodSync, chownSync, cpSync, lchownSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { test } from "node:test";

import { openAnimalStore } from "../../src/index.ts";
import { run } from "../support/program.ts";
import { root } from "../support/root.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { runHere } from "../support/terminal.ts";

const skip = process.getuid?.() === 0 ? false : "needs root, to be two users";
const guest = 65_534;

/** What a user does to the way `HOME/shop/data`, in which all is root's before. */
const doings: Readonly<Record<string, (home: string) => void>> = {
  "the folder is another user's": (home) => chownSync(join(home, "shop/data"), guest, guest),
  "a folder above is another user's": (home) => chownSync(join(home, "shop"), guest, guest),
  "a folder further above is another user's": (home) => chownSync(home, guest, guest),
  "the folder is another user's link to one of root's": (home) => {
    cpSync(join(home, "shop/data"), join(home, "theirs"), { recursive: true });
    rmSync(join(home, "shop/data"), { recursive: true });
    symlinkSync(join(home, "theirs"), join(home, "shop/data"));
    lchownSync(join(home, "shop/data"), guest, guest);
  },
  "a folder above is another user's link": (home) => {
    cpSync(join(home, "shop"), join(home, "theirs"), { recursive: true });
    rmSync(join(home, "shop"), { recursive: true });
    symlinkSync("theirs", join(home, "shop"));
    lchownSync(join(home, "shop"), guest, guest);
  },
  "root's own link leads through another user's folder": (home) => {
    mkdirSync(join(home, "away/inner"), { recursive: true });
    cpSync(join(home, "shop/data"), join(home, "away/inner/data"), { recursive: true });
    rmSync(join(home, "shop"), { recursive: true });
    symlinkSync(join(home, "away/inner"), join(home, "shop"));
    chownSync(join(home, "away"), guest, guest);
  },
  "root's own link leads up from where another one leads, which is another user's": (home) => {
    mkdirSync(join(home, "away/inner"), { recursive: true });
    cpSync(join(home, "shop/data"), join(home, "away/data"), { recursive: true });
    rmSync(join(home, "shop/data"), { recursive: true });
    symlinkSync(join(home, "away/inner"), join(home, "shop/inner"));
    symlinkSync("inner/../data", join(home, "shop/data"));
    chownSync(join(home, "away"), guest, guest);
  },
  "others may replace what is in the folder": (home) => chmodSync(join(home, "shop/data"), 0o777),
  "a group may replace what is in the folder above": (home) => chmodSync(join(home, "shop"), 0o770),
};

/** Each command with what it prints if root is refused; `DATA` is the folder, `OTHER` a new one of root's. */
const commands = [
  "keys list --data DATA", "keys create --data DATA", "import data/sample.jsonl --data DATA", "check --data DATA", "--port 0 --data DATA",
  "--port 0 --data DATA/new", "export OTHER/new --data DATA", "check --salvage OTHER/new --data DATA",
  "export DATA/new --data OTHER", "check --salvage DATA/new --data OTHER",
];

const refusal = /(belongs to user \S+: run this as that user, .*runuser -u \S+ .*docker run --user \d|others can replace .*runuser -u).*\n/;

for (const [name, doTo] of Object.entries(doings)) {
  test(`root is refused, and nothing is touched: ${name}`, { skip }, async (context) => {
    const [home, other] = [temporaryFolder(context), temporaryFolder(context)];
    const data = join(home, "shop/data");
    for (const folder of [data, other]) {
      assert.equal((await runHere(["keys", "create", "--data", folder])).code, 0);
      await runHere(["import", "data/sample.jsonl", "--data", folder]);
    }
    doTo(home);
    const before = [readdirSync(home, { recursive: true }), readdirSync(other)];
    for (const command of commands) {
      const { code, stdout, stderr } = await runHere(command.replace("DATA", data).replace("OTHER", other).split(" "));
      assert.notEqual(code, 0, command);
      assert.match(stdout + stderr, refusal, command);
    }
    await assert.rejects(openAnimalStore({ dataDir: data }), /run this as/);
    await assert.rejects(openAnimalStore({ dataDir: join(data, "new") }), /run this as/);
    assert.deepEqual([readdirSync(home, { recursive: true }), readdirSync(other)], before);
  });
}

test("root works in its own folder, by its own links, and in a sticky folder like /tmp", { skip }, async (context) => {
  const home = temporaryFolder(context);
  mkdirSync(join(home, "tmp/real"), { recursive: true });
  chmodSync(join(home, "tmp"), 0o1777);
  symlinkSync("tmp/real", join(home, "link"));
  symlinkSync(join(root, "data/sample.jsonl"), join(home, "animals"));
  for (const data of [join(home, "link"), join(home, "link/data"), join(home, "tmp/data/deep")]) {
    assert.equal((await runHere(["keys", "create", "--data", data])).code, 0, data);
    assert.equal((await runHere(["--port", "0", "--data", data])).code, 0, data);
    assert.equal((await runHere(["import", join(home, "animals"), "--data", data])).code, 0, data);
  }
});

test("in a sticky folder root uses no file or socket that another user has made there", { skip }, async (context) => {
  const data = temporaryFolder(context);
  assert.equal((await runHere(["keys", "create", "--data", data])).code, 0);
  await runHere(["import", "data/sample.jsonl", "--data", data]);
  chmodSync(data, 0o1777);
  for (const [name, command] of [["pets.jsonl", "check"], ["keys.jsonl", "keys list"], ["keys.jsonl", "keys create"]] as const) {
    chownSync(join(data, name), guest, guest);
    const { stdout, stderr } = await runHere([...command.split(" "), "--data", data]);
    assert.match(stdout + stderr, new RegExp(`${name} belongs to user`), command);
    chownSync(join(data, name), 0, 0);
  }
  const socket = createServer().listen(join(data, "server.lock"));
  await once(socket, "listening");
  chownSync(join(data, "server.lock"), guest, guest);
  assert.match((await runHere(["keys", "create", "--data", data])).stderr, /server.lock belongs to user/);
  socket.close();
});

test("root works in the place of the user to whom the program belongs, as in a checkout, and of nobody else", { skip }, async (context) => {
  const home = temporaryFolder(context);
  const [checkout, data] = [join(home, "checkout"), join(home, "checkout/data")];
  mkdirSync(data, { recursive: true });
  cpSync(join(root, "dist"), join(checkout, "dist"), { recursive: true });
  writeFileSync(join(checkout, "package.json"), `{"type":"module"}`);
  for (const folder of [home, checkout, data]) {
    chownSync(folder, guest, guest);
    chmodSync(folder, 0o775); // As a usual umask of 002 leaves it.
  }
  const create = (mode: number, ...owner: readonly [number, number]) => {
    chownSync(join(checkout, "package.json"), ...owner);
    chmodSync(join(checkout, "package.json"), mode);
    return run(["keys", "create", "--data", data], { program: join(checkout, "dist/server.js") });
  };
  assert.equal((await create(0o664, guest, guest)).code, 0);
  assert.match((await create(0o664, guest + 1, guest)).stderr, refusal);
  assert.match((await create(0o644, guest, guest)).stderr, refusal, "the group can replace the data, and not the program");
});

test("root reads and writes through no link in the place of a file", { skip }, async (context) => {
  const above = temporaryFolder(context);
  const [data, secret] = [join(above, "data"), join(above, "secret")];
  mkdirSync(data);
  writeFileSync(secret, "of root alone\n");
  for (const [name, command] of [["pets.jsonl", "check"], ["keys.jsonl", "keys list"], ["limits.json", "keys create"]] as const) {
    symlinkSync(secret, join(data, name));
    const { stdout, stderr } = await runHere([...command.split(" "), "--data", data]);
    assert.match(stdout + stderr, new RegExp(`${name} is a link, which root does not follow`));
    rmSync(join(data, name));
  }
});
