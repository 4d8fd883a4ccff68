/**
 * The manual's recipes, run as they are written.
 */

import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { cp, mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { test } from "node:test";
import { parseAllDocuments } from "yaml";
import { keepPair, one } from "../../build/test/support/certificates.js";
import { hasIpv6Loopback } from "../../build/test/support/ipv6.js";
import { createKey, start } from "../../build/test/support/program.js";
import { temporaryFolder } from "../../build/test/support/temporary-folder.js";
import { here, programPath, recipes } from "./running-service.js";

const project = join(here, "..", "..");

/** @returns the recipe's text */
function recipe(name) {
  return readFile(join(recipes, name), "utf8");
}

const skipSystemd = spawnSync("systemd-analyze", ["--version"]).error && "systemd-analyze is not installed (Debian: systemd)";
const skipTrace = skipSystemd ?? (spawnSync("strace", ["-f", "true"]).status !== 0 && "strace cannot be used here");

const units = ["animal-store.service", "animal-store@.service"];

for (const name of units) {
  test(`systemd-analyze finds no fault in ${name}, and an exposure of 1.1 at most`, { skip: skipSystemd }, async (context) => {
    const folder = temporaryFolder(context);
    const path = join(folder, name);
    await writeFile(path, (await recipe(name)).replace("/usr/bin/node", process.execPath));
    const { stdout, stderr, status } = spawnSync("systemd-analyze", ["verify", path], { encoding: "utf8" });
    // It also checks the machine's own units that this one names.
    const faults = `${stdout}${stderr}`.split("\n").filter((line) => line.includes("animal-store"));
    assert.deepEqual([status, faults], [0, []]);
    const security = ["security", "--no-pager", "--offline=true", "--threshold=11", path]; // In tenths.
    const rating = spawnSync("systemd-analyze", security, { encoding: "utf8" });
    assert.equal(rating.status, 0, rating.stdout + rating.stderr);
  });
}

test("both systemd units restrict the service equally, so that what holds for one holds for the other", async () => {
  const [folder, database] = (await Promise.all(units.map(recipe))).map((unit) => /^CapabilityBoundingSet=.*?(?=^\[Install\])/ms.exec(unit)[0]);
  assert.equal(database, folder);
});

/** The unit cannot run here. So what it allows is compared with what the service does. */
test("the systemd unit allows each system call and each kind of socket that the service uses", { skip: skipTrace }, async (context) => {
  const folder = temporaryFolder(context);
  const trace = join(folder, "trace");
  const data = ["--data", join(folder, "data")];
  const how = { program: programPath };
  const key = await createKey(data, "free", how);
  const service = await start(context, data, { ...how, wrapper: ["strace", "-f", "-q", "-o", trace] });
  await createKey(data, "free", how); // By the Unix socket.
  const headers = { Authorization: `Bearer ${key}`, "Content-Type": "application/json" };
  const response = await fetch(`${service.url}/pets`, { method: "POST", headers, body: '{"name":"Rex","categoryId":1}' });
  assert.equal(response.status, 201);
  assert.equal(await service.stop("SIGTERM"), 0);

  const unit = await recipe("animal-store.service");
  const [allowed, refused] = Array.from(unit.matchAll(/^SystemCallFilter=~?(.*)$/gm), ([, names]) => callsOf(names.split(" ")));
  const calls = await readFile(trace, "utf8");
  const used = new Set(Array.from(calls.matchAll(/^\d+ +(\w+)\(/gm), ([, name]) => name));
  assert.deepEqual([...used].filter((name) => !allowed.has(name) || refused.has(name)), []);
  const [, families] = /^RestrictAddressFamilies=(.*)$/m.exec(unit);
  const opened = new Set(Array.from(calls.matchAll(/ socket(?:pair)?\((\w+)/g), ([, family]) => family));
  assert.ok(opened.has("AF_UNIX") && opened.has("AF_INET"));
  assert.deepEqual([...opened].filter((family) => !families.split(" ").includes(family)), []);
});

/** The calls that systemd's names mean: a set has calls and other sets. */
function callsOf(names) {
  const { stdout } = spawnSync("systemd-analyze", ["syscall-filter", "--no-pager", ...names], { encoding: "utf8" });
  const members = Array.from(stdout.matchAll(/^ {4}([@\w-]+)$/gm), ([, name]) => name);
  const sets = members.filter((name) => name.startsWith("@"));
  return new Set([...members, ...(sets.length === 0 ? [] : callsOf(sets))]);
}

/** Follows the Dockerfile without Docker: what it copies is all that the build gets. */
test("the Dockerfile copies all that the build needs, and starts the program that it makes", async (context) => {
  const folder = temporaryFolder(context);
  const [build, image] = (await recipe("Dockerfile")).split(/^FROM /m).slice(1);
  for (const [, instruction, rest] of build.matchAll(/^(COPY|RUN) (.*)$/gm)) {
    if (instruction === "RUN") {
      execFileSync("sh", ["-c", rest], { cwd: folder, stdio: "pipe" });
      continue;
    }
    const paths = rest.split(" ");
    const target = join(folder, paths.pop());
    for (const path of paths) {
      const isFolder = (await stat(join(project, path))).isDirectory();
      await cp(join(project, path), isFolder ? target : join(target, basename(path)), { recursive: true });
    }
  }
  const root = join(folder, "image");
  for (const [, from, to] of image.matchAll(/^COPY --from=build \/app\/(\S+) (\S+)$/gm)) {
    const target = to.endsWith("/") ? join(root, to, basename(from)) : join(root, to);
    await mkdir(dirname(target), { recursive: true });
    await cp(join(folder, from), target, { recursive: true });
  }
  const [program] = JSON.parse(/^CMD (.*)$/m.exec(image)[1]).slice(1);
  const { version } = JSON.parse(await readFile(join(project, "package.json"), "utf8"));
  const printed = execFileSync(process.execPath, [join(root, program), "--version"], { encoding: "utf8" });
  assert.equal(printed, `${version}\n`);
});

test("the Dockerfile's health check works with TLS, with any host and beside a proxy, and fails once the service has ended", async (context) => {
  const text = await recipe("Dockerfile");
  const folder = temporaryFolder(context);
  for (const [, path] of text.matchAll(/^COPY (?:--from=build \/app\/)?(\S+\.js(?:on)?) \/app\/$/gm)) {
    await cp(join(project, path), join(folder, basename(path)));
  }
  const [command, ...args] = JSON.parse(/^HEALTHCHECK .* CMD (\[.*\])$/m.exec(text)[1]);
  assert.equal(command, "node");
  const inFolder = args.map((arg) => arg.replace(/^\/app/, folder));
  const { cert, key } = keepPair(folder, one);
  const [, image] = /^ENV ANIMAL_STORE_HOST=(.*)$/m.exec(text);
  const https = { ANIMAL_STORE_TLS_CERT: cert, ANIMAL_STORE_TLS_KEY: key };
  for (const variables of [
    { ANIMAL_STORE_HOST: hasIpv6Loopback ? image : "0.0.0.0" },
    { ANIMAL_STORE_HOST: "" },
    { ANIMAL_STORE_HOST: "127.0.0.2" },
    { ANIMAL_STORE_HOST: hasIpv6Loopback ? "::1" : "localhost", ...https },
    { ANIMAL_STORE_HOST: "0.0.0.0", ...https },
  ]) {
    const service = await start(context, ["--data", join(folder, "data")], { program: programPath, env: variables });
    const proxy = { HTTP_PROXY: "http://127.0.0.1:9", HTTPS_PROXY: "http://127.0.0.1:9", NODE_USE_ENV_PROXY: "1" };
    const env = { ...process.env, ...proxy, ...variables, PORT: new URL(service.url).port };
    const status = () => spawnSync(process.execPath, inFolder, { env, timeout: 20_000 }).status;
    assert.equal(status(), 0, JSON.stringify(variables));
    assert.equal(await service.stop(), 0);
    assert.equal(status(), 1, JSON.stringify(variables));
  }
});

const manifests = { "kubernetes/folder.yaml": [1, "Recreate"], "kubernetes/database.yaml": [3, undefined] };

for (const [name, [replicas, strategy]] of Object.entries(manifests)) {
  test(`${name} starts the image as it is made, with settings, probes and a Service that fit it`, async (context) => {
    const objects = parseAllDocuments(await recipe(name)).map((document) => document.toJS());
    const { Deployment: { spec }, Service: { spec: service } } = Object.fromEntries(objects.map((object) => [object.kind, object]));
    assert.deepEqual([spec.replicas, spec.strategy.type], [replicas, strategy]);
    const { metadata: { labels }, spec: pod } = spec.template;
    assert.deepEqual([spec.selector.matchLabels, service.selector], [labels, labels]);
    const { containers: [container], securityContext, terminationGracePeriodSeconds } = pod;
    assert.equal(container.ports.find((port) => port.name === service.ports[0].targetPort).containerPort, 3000);
    assert.ok(terminationGracePeriodSeconds >= Number(container.lifecycle.preStop.exec.command[1]) + 10 + 5);
    assert.ok(securityContext.runAsUser === 1000 && (await recipe("Dockerfile")).includes("\nUSER node\n"));

    const kept = container.env.find(({ name }) => name === "ANIMAL_STORE_DATA" || name === "ANIMAL_STORE_DATABASE");
    const data = join(temporaryFolder(context), "new", "store");
    if (kept.name === "ANIMAL_STORE_DATA") {
      const { mountPath } = container.volumeMounts[0];
      assert.ok(kept.value.startsWith(`${mountPath}/`) && container.volumeMounts[0].name === pod.volumes[0].name);
      assert.equal(objects[0].metadata.name, pod.volumes[0].persistentVolumeClaim.claimName);
    } else {
      const { name: secret, key } = kept.valueFrom.secretKeyRef;
      assert.ok((await recipe(name)).includes(`kubectl create secret generic ${secret} --from-literal=${key}=postgres://`));
    }
    const others = container.env.filter((one) => one !== kept).map((one) => [one.name, one.value]);
    const env = Object.fromEntries([...others, ["ANIMAL_STORE_DATA", data]]);
    const running = await start(context, [], { program: programPath, env });
    assert.doesNotMatch(running.output().stderr, /is not a setting/);
    for (const probe of ["startupProbe", "livenessProbe", "readinessProbe"]) {
      const { path, port } = container[probe].httpGet;
      assert.deepEqual([(await fetch(`${running.origin}${path}`)).status, port], [200, container.ports[0].name], probe);
    }
    assert.equal(await running.stop(), 0);
  });
}

test("the programs of the bench run to their end", () => {
  const dist = join(project, "dist");
  const bench = (file, ...args) => spawnSync(process.execPath, [join(here, "..", "bench", file), ...args], { encoding: "utf8" });
  const ownTime = bench("own-time.js", dist, dist, "--only", "W3", "--launches", "1", "--seconds", "1");
  assert.equal(ownTime.status, 0, ownTime.stderr);
  assert.match(ownTime.stdout, /^ {2}A\/B \d+\.\d+$/m);
  // Without better-sqlite3, which takes minutes to compile.
  const [npm, ...flags] = "npm run bench -- --quick --only W3 --peers= --no-tail --no-start-up".split(" ");
  const whole = spawnSync(npm, flags, { cwd: project, encoding: "utf8", env: { ...process.env, npm_config_omit: "optional" } });
  assert.equal(whole.status, 0, whole.stdout + whole.stderr);
  assert.match(whole.stdout, /^\| W3 .*\*\*\d+\.\d+\*\*/m);
  const startUp = bench("start-up.js", "--animals", "1000", "--rounds", "1", "--dist", dist);
  assert.equal(startUp.status, 0, startUp.stderr);
  assert.match(startUp.stdout, /^\| this service \|/m);
});
