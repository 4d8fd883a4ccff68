/**
 * What the console never does, what its gauges may say, and whom it works for.
 */

import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { chromium } from "playwright-core";
import { until } from "../../build/test/support/until.js";
import { add, closeBrowser, enterKey, launchOptions, openConsole, openWithKey, skip, startProgram, watchPage } from "./console.js";

after(closeBrowser);

const axePath = createRequire(import.meta.url).resolve("axe-core/axe.min.js");
const tooMany = "status of 429";

test("thirty seconds cost no request: the countdown runs on the browser's clock, ten minutes off, and moves no focus", { skip }, async (context) => {
  const aheadMs = 600_000;
  const { page, requests } = await openWithKey(context, { clock: Date.now() + aheadMs });
  await page.locator("#name").focus();
  await page.clock.pauseAt(Date.now() + aheadMs + 5_000);
  const [before, from] = [requests.length, await secondsLeft(page)];
  assert.ok(from >= 30 && from <= 60, `${from} s`); // A busy machine takes its time.
  await page.clock.runFor(30_000);
  assert.equal(from - (await secondsLeft(page)), 30);
  assert.equal(requests.length, before);
  assert.equal(await page.evaluate(() => document.activeElement.id), "name");
  const isLive = await page.locator("#minute-reset").evaluate((node) => node.closest("[role=status], [aria-live]") !== null);
  assert.equal(isLive, false, "no tick is announced");
  await page.clock.runFor(60_000);
  assert.equal(await page.locator("#minute-left").innerText(), "60 of 60");
  assert.equal(await page.locator("#minute-reset").innerText(), "full again");
  assert.equal(requests.length, before);
});

test("a 429 counts down to its end, not to an earlier reset", { skip }, async (context) => {
  const program = await startProgram(context);
  const key = await program.createKey("--plan", "enterprise", "--per-minute", "2", "--per-day", "100");
  await followed(program, key);
  const { page } = await openConsole(context, program, { clock: Date.now(), allowed: [tooMany] });
  await enterKey(page, key); // Takes the second of the two; the list is refused.
  await page.locator("#notice", { hasText: /^The requests of this key are used up\. .*Wait until .*\d+:\d\d:\d\d\D*$/ }).waitFor();
  assert.match(await page.locator("#wait").innerText(), /^This key has to wait until .*\d+:\d\d:\d\d/);
  assert.equal(await page.locator("#minute-left").innerText(), "0 of 2");
  assert.match(await page.locator("#minute-reset").innerText(), /^full in/);
  await page.clock.pauseAt(Date.now() + 5_000);
  const left = await clockSeconds(page, "#wait-left", / left$/);
  assert.ok(left > 15 && left <= 56, `${left} s`);
  await page.clock.runFor((left - 2) * 1_000);
  assert.match(await page.locator("#wait-left").innerText(), /^[1-3] s left$/);
  await page.clock.runFor(4_000);
  assert.equal(await page.locator("#wait").innerText(), "The wait is over.");
  assert.equal(await page.locator("#wait-left").innerText(), "");
});

test("a wait that does not end today says on which date", { skip }, async (context) => {
  const program = await startProgram(context);
  const key = await program.createKey("--plan", "enterprise", "--per-minute", "2", "--per-day", "2");
  await followed(program, key);
  const { page } = await openConsole(context, program, { allowed: [tooMany], locale: "en-US" });
  await enterKey(page, key); // As above; here the day is used up, too.
  assert.match(await page.locator("#wait").innerText(), /^This key has to wait until [A-Z][a-z]{2} \d+, \d{4}, \d+:\d\d:\d\d [AP]M\.$/);
});

test("the meters show what the last response said of each window, and one press of Refresh asks for both", { skip }, async (context) => {
  const { program, page } = await openWithKey(context, { allowed: ["net::ERR_"] });
  const list = async () => {
    await page.getByRole("button", { name: "List animals" }).click();
    await page.locator("body[aria-busy=false]").waitFor();
  };
  const shown = () => Promise.all(["#minute-left", "#day-left"].map((id) => page.locator(id).innerText()));
  await list();
  assert.deepEqual(await shown(), ["57 of 60", "999 of 1,000"]);
  const headers = { Authorization: `Bearer ${program.firstKey}` };
  await fetch(`${program.apiUrl}/pets`, { headers }); // As another program does.
  await list();
  assert.deepEqual(await shown(), ["55 of 60", "999 of 1,000"]);
  await page.route("**/v1/pets*", (route) => route.abort(), { times: 1 });
  await list();
  assert.deepEqual(await shown(), ["55 of 60", "999 of 1,000"], "a lost response says nothing");
  await program.changeKey("reset");
  await list();
  assert.deepEqual(await shown(), ["59 of 60", "999 of 1,000"]);
  await refresh(page, "#day-left", "998 of 1,000");
  assert.deepEqual(await shown(), ["57 of 60", "998 of 1,000"], "the list took one, too");
  await program.changeKey("plan", "--plan", "business"); // As many requests in a minute as Free has in a day.
  await list();
  assert.equal(await page.locator("#plan").innerText(), "plan changed: press Refresh");
  assert.ok(await page.locator("#meters").isHidden());
  await refresh(page, "#plan", "business plan");
  assert.deepEqual(await shown(), ["994 of 1,000", "99,995 of 100,000"]);
});

test("an address's 429 is not the key's: a mistyped key stays in its field, no meter and no wait is shown", { skip }, async (context) => {
  const program = await startProgram(context);
  const unknown = `as_${"x".repeat(43)}`;
  const { page } = await openConsole(context, program, { allowed: [tooMany] });
  const headers = { Authorization: `Bearer ${unknown}` };
  await Promise.all(Array.from({ length: 60 }, () => fetch(`${program.apiUrl}/pets`, { headers })));
  await enterKey(page, unknown);
  assert.match(await page.locator("#notice").innerText(), /^The service does not know this key: .* Wait until .*\d+:\d\d:\d\d\D*$/);
  assert.equal(await page.getByLabel("API key").inputValue(), unknown);
  assert.ok(await page.locator("#meters").isHidden());
  await enterKey(page, program.firstKey);
  assert.equal(await page.locator("#minute-left").innerText(), "58 of 60");
  const refused = await (await fetch(`${program.apiUrl}/pets`, { headers })).text();
  await page.route("**/v1/*", (route) => route.fulfill({
    status: 429,
    headers: { "Retry-After": "40", "X-RateLimit-Limit": "60", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1" },
    body: refused, // As if the key was revoked meanwhile.
  }));
  await page.getByRole("button", { name: "List animals" }).click();
  await page.locator("#notice", { hasText: "does not know this key" }).waitFor();
  assert.ok(await page.locator("#meters").isHidden());
  assert.equal(await page.locator("#wait").innerText(), "");
  assert.ok(await page.getByLabel("API key").isVisible(), "asked for again");
});

test("a ban counts down to its end", { skip }, async (context) => {
  const { page } = await openWithKey(context, { clock: Date.now(), allowed: [tooMany] });
  await ban(page);
  await page.clock.pauseAt(Date.now() + 1_000);
  await page.getByRole("button", { name: "List animals" }).click();
  const notice = page.locator("#notice", { hasText: "This key is banned for a while" });
  await notice.waitFor();
  const [, until] = /^This key is banned until (.*\d+:\d\d:\d\d.*)$/.exec(await page.locator("#wait").innerText());
  assert.match(await notice.innerText(), new RegExp(` Wait until ${until}$`), "nothing that is counted in one place only");
  assert.equal(await page.locator("#minute-left").innerText(), "58 of 60", "a ban's end is no window's");
  await page.clock.pauseAt(Date.now() + 5_000);
  const left = await clockSeconds(page, "#wait-left", / left$/);
  assert.ok(left > 260 && left <= 300, `${left} s`);
  await page.clock.runFor(left * 1_000 + 1_000);
  assert.equal(await page.locator("#wait").innerText(), "The wait is over.");
});

test("the key is in no address, storage, cookie, log, and in no file of the browser's profile", { skip }, async (context) => {
  const program = await startProgram(context);
  const profile = await mkdtemp(join(tmpdir(), "animal-store-profile-"));
  context.after(() => rm(profile, { recursive: true, force: true }));
  const browserContext = await chromium.launchPersistentContext(profile, launchOptions);
  const page = browserContext.pages()[0];
  const { faults } = watchPage(page, program.origin);
  await page.goto(program.origin);
  await enterKey(page, program.firstKey);
  await page.getByRole("button", { name: "List animals" }).click();
  await page.locator("#range", { hasText: "empty" }).waitFor();
  const kept = await page.evaluate(async () => ({
    address: location.href,
    storage: JSON.stringify([{ ...localStorage }, { ...sessionStorage }, history.state, document.cookie]),
    databases: (await indexedDB.databases()).length,
    caches: (await caches.keys()).length,
    page: document.documentElement.outerHTML + [...document.querySelectorAll("input")].map((input) => input.value).join(),
  }));
  assert.deepEqual([kept.address, kept.storage, kept.databases, kept.caches], [`${program.origin}/`, '[{},{},null,""]', 0, 0]);
  assert.ok(!kept.page.includes(program.firstKey));
  await page.reload(); // A reload saves what fields hold, and forgets the key.
  await page.getByLabel("API key").waitFor();
  assert.equal(await page.getByLabel("API key").inputValue(), "");
  await browserContext.close();
  await program.stop();
  assert.deepEqual(faults, []);
  const log = program.output().replace(/^.*first start[^]*?listening on .*$/m, "");
  assert.match(log, /"route":/);
  assert.ok(!log.includes(program.firstKey), "the log holds the key");
  const secret = Buffer.from(program.firstKey);
  const wide = Buffer.from(program.firstKey, "utf16le");
  let fileCount = 0;
  for (const entry of await readdir(profile, { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) {
      const content = await readFile(join(entry.parentPath ?? entry.path, entry.name));
      assert.ok(!content.includes(secret) && !content.includes(wide), `${entry.name} holds the key`);
      fileCount++;
    }
  }
  assert.ok(fileCount > 10, "there is a profile");
});

test("requests carry no cookie, and a redirect is not followed", { skip }, async (context) => {
  const program = await startProgram(context);
  const { page } = await openConsole(context, program, { allowed: ["net::ERR_"] });
  await page.context().addCookies([{ name: "session", value: "secret", url: program.origin }]);
  const [request] = await Promise.all([page.waitForRequest("**/v1/limits"), enterKey(page, program.firstKey)]);
  assert.equal((await request.allHeaders()).cookie, undefined);
  await page.route("**/v1/pets*", (route) => route.fulfill({ status: 307, headers: { location: "/healthz" } }));
  await page.getByRole("button", { name: "List animals" }).click();
  await page.locator("#notice", { hasText: "No answer" }).waitFor();
});

for (const [colorScheme, paper] of [["light", "rgb(255, 255, 255)"], ["dark", "rgb(18, 20, 22)"]]) {
  test(`the page is ${colorScheme} if the browser is, and axe finds no fault in any state`, { skip }, async (context) => {
    const program = await startProgram(context, { pets: [{ name: "Rex \u202e", categoryId: 1 }] });
    const { page } = await openConsole(context, program, { colorScheme, allowed: [tooMany, "status of 400"], bypassCSP: true });
    assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), paper);
    await page.addScriptTag({ path: axePath });
    await judge(page, "empty");
    await enterKey(page, program.firstKey);
    await page.getByRole("button", { name: "List animals" }).click();
    await page.locator("#table").waitFor();
    await judge(page, "listed");
    await ban(page);
    await add(page, "Rex");
    await page.locator("#notice", { hasText: "banned" }).waitFor();
    await judge(page, "refused");
  });
}

async function judge(page, state) {
  const violations = await page.evaluate(async () => {
    const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
    const found = await globalThis.axe.run(document, { runOnly: tags });
    return found.violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(" | ")}`);
  });
  assert.deepEqual(violations, [], state);
}

test("every result is announced to who cannot see the page, and nothing moves", { skip }, async (context) => {
  const { page } = await openConsole(context, await startProgram(context), { reducedMotion: "reduce" });
  for (const id of ["notice", "wait", "shown"]) {
    assert.equal(await page.locator(`#${id}`).getAttribute("role"), "status", id);
  }
  const moving = await page.locator("*").evaluateAll((all) => all.filter((node) => {
    const { transitionDuration, animationName } = getComputedStyle(node);
    return transitionDuration !== "0s" || animationName !== "none";
  }).length);
  assert.equal(moving, 0);
});

test("at 320 pixels no content scrolls sideways", { skip }, async (context) => {
  const names = ["W".repeat(255), "Ein sehr langer Name für ein kleines Tier", "\u202e".repeat(60)];
  const pets = names.map((name) => `{"name":${JSON.stringify(name)},"categoryId":-9223372036854775808}`);
  const program = await startProgram(context, { pets });
  const viewport = { width: 320, height: 640 };
  const { page } = await openConsole(context, program, { viewport, allowed: [tooMany] });
  const width = () => page.evaluate(() => document.documentElement.scrollWidth);
  assert.equal(await width(), 320, "empty");
  await enterKey(page, program.firstKey);
  await page.getByRole("button", { name: "List animals" }).click();
  await page.locator("#table").waitFor();
  assert.equal(await width(), 320, "listed");
  await page.route("**/v1/pets*", (route) =>
    route.fulfill({ body: '[{"id":1234567890,"name":"Rex","categoryId":7,"status":"available"}]' }),
  );
  await page.getByRole("button", { name: "List animals" }).click();
  await page.locator("#pets", { hasText: "1234567890" }).waitFor();
  assert.equal(await width(), 320, "many animals");
  await ban(page);
  await page.getByRole("button", { name: "List animals" }).click();
  await page.locator("#wait", { hasText: "banned" }).waitFor();
  assert.equal(await width(), 320, "banned");
});

async function refresh(page, selector, text) {
  await page.getByRole("button", { name: "Refresh" }).click();
  await page.locator(selector, { hasText: text }).waitFor();
  await page.locator("body[aria-busy=false]").waitFor();
}

/** Whole seconds of the minute's countdown. */
function secondsLeft(page) {
  return clockSeconds(page, "#minute-reset", /^full in /);
}

async function clockSeconds(page, selector, around) {
  const text = (await page.locator(selector).innerText()).replace(around, "");
  const units = { h: 3_600, min: 60, s: 1 };
  return Array.from(text.matchAll(/(\d+) (\w+)/g)).reduce((sum, [, count, unit]) => sum + count * units[unit], 0);
}

/** From here on the service answers as for a banned key: a real ban takes ten seconds with a refusal each. */
function ban(page) {
  return page.route("**/v1/pets*", (route) =>
    route.fulfill({
      status: 429,
      headers: {
        "Content-Type": "application/json; charset=utf-8",
        Date: new Date().toUTCString(),
        "Retry-After": "300",
        "X-RateLimit-Limit": "60",
        "X-RateLimit-Remaining": "0",
        "X-RateLimit-Reset": String(Math.floor(Date.now() / 1_000) + 300),
      },
      body: '{"code":"key_banned","message":"The API key is banned.","status":429}',
    }),
  );
}

/** Resolves when the running program has read of the new key, which takes one of its requests. */
async function followed({ apiUrl }, key) {
  const headers = { Authorization: `Bearer ${key}` };
  await until("the program knows the key", async () => (await fetch(`${apiUrl}/pets`, { headers })).status !== 401);
}
