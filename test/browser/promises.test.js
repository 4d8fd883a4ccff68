/**
 * What the page never does, what it says of the quota, and whom it works for.
 */

import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { chromium } from "playwright-core";
import {
  changeStatus, choose, closeBrowser, enterKey, find, idle, launchOptions, notice, openConsole, openWithKey, press, pressInMenu, skip, startProgram,
  watchPage,
} from "./console.js";

after(closeBrowser);

const axePath = createRequire(import.meta.url).resolve("axe-core/axe.min.js");
const tooMany = "status of 429";

test("the quota is shown once a fifth is left, with the time until when, and goes then, by the browser's clock, ten minutes off", { skip }, async (context) => {
  const aheadMs = 600_000;
  const program = await startProgram(context);
  await program.changeKey("plan", "--plan", "enterprise", "--per-minute", "10", "--per-day", "1000");
  const { page, requests } = await openConsole(context, program, { clock: Date.now() + aheadMs, locale: "en-US" });
  await enterKey(page, program.firstKey);
  const quota = page.locator("#quota");
  for (const left of [7, 6, 5, 4, 3, 2, 1]) {
    assert.equal(await quota.textContent(), "", `${left + 1} are left`);
    await press(page, "Refresh");
    await idle(page);
    if (left <= 2) {
      break;
    }
  }
  assert.match(await quota.textContent(), /^2 of 10 requests left until \d+:\d\d:\d\d [AP]M$/);
  assert.equal(await quota.evaluate((node) => node.localName), "output");
  await page.locator("#wanted").focus();
  const before = requests.length;
  await page.clock.runFor(61_000);
  assert.equal(await quota.textContent(), "");
  assert.equal(await page.evaluate(() => document.activeElement.id), "wanted");
  assert.equal(requests.length, before, "no request that nobody started");
});

test("while the key is refused the buttons that send rest and say until when, which is a date unless it is today", { skip }, async (context) => {
  const { page, requests } = await openWithKey(context, { pets: [{ name: "Rex", categoryId: 1 }], clock: Date.now(), locale: "en-US", allowed: [tooMany] });
  for (const [code, seconds, words, time] of [
    ["rate_limited", 40, "The requests of this key are used up.", "\\d+:\\d\\d:\\d\\d [AP]M"],
    ["rate_limited", 100_000, "The requests of this key are used up.", "[A-Z][a-z]{2} \\d+, \\d{4}, \\d+:\\d\\d:\\d\\d [AP]M"],
    ["key_banned", 300, "This key is banned for a while: it sent too many requests.", "\\d+:\\d\\d:\\d\\d [AP]M"],
  ]) {
    await refuse(page, code, seconds);
    await press(page, "Refresh");
    await notice(page, new RegExp(`^${words} Wait until ${time}\\.$`));
    const until = /until (.*)\.$/.exec(await page.locator("#notice").textContent())[1];
    const before = requests.length;
    for (const act of [
      () => page.getByRole("button", { name: "Refresh" }).click({ force: true }),
      () => page.locator("#wanted").press("Enter"),
      () => choose(page, "Sold"),
      () => page.getByRole("button", { name: "Sell animal 1" }).press("Enter"),
    ]) {
      await act();
      assert.equal(await page.locator("#notice").textContent(), `Not sent: wait until ${until}.`);
    }
    for (const button of await page.locator("#desk .sends").all()) {
      assert.equal(await button.getAttribute("aria-disabled"), "true");
    }
    assert.equal(await page.getByRole("button", { name: "Refresh" }).getAttribute("title"), `wait until ${until}`);
    assert.equal(await page.locator("#forget").getAttribute("aria-disabled"), "false");
    assert.equal(requests.length, before, "nothing was sent");
    await page.clock.runFor((seconds + 5) * 1_000);
    assert.equal(await page.getByRole("button", { name: "Refresh" }).getAttribute("aria-disabled"), "false", "the wait is over");
    assert.equal(await page.locator("#notice").textContent(), "", "and so is what said it");
  }
});

test("an address's 429 is not the key's: a mistyped key stays in its field, and no button rests", { skip }, async (context) => {
  const program = await startProgram(context);
  const unknown = `as_${"x".repeat(43)}`;
  const { page } = await openConsole(context, program, { allowed: [tooMany] });
  const headers = { Authorization: `Bearer ${unknown}` };
  await Promise.all(Array.from({ length: 60 }, () => fetch(`${program.apiUrl}/pets`, { headers })));
  await enterKey(page, unknown);
  const says = page.locator("#key-says");
  assert.match(await says.innerText(), /^The service does not know this key.* Wait until .*\d+:\d\d:\d\d/);
  assert.equal(await page.getByLabel("API key").inputValue(), unknown);
  await enterKey(page, program.firstKey);
  assert.ok(await page.locator("#desk").isVisible());
  const refused = await (await fetch(`${program.apiUrl}/pets`, { headers })).text();
  await page.route("**/v1/*", (route) => route.fulfill({
    status: 429,
    headers: { "Retry-After": "40", "X-RateLimit-Limit": "60", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1" },
    body: refused, // As if the key was revoked meanwhile.
  }));
  await press(page, "Refresh");
  await page.locator("#key-says", { hasText: "does not know this key" }).waitFor();
  assert.equal(await page.locator("#key-form .sends").getAttribute("aria-disabled"), "false");
});

test("the key is in no address, storage, cookie, log, and in no file of the browser's profile", { skip }, async (context) => {
  const program = await startProgram(context);
  const profile = await mkdtemp(join(tmpdir(), "animal-store-profile-"));
  context.after(() => rm(profile, { recursive: true, force: true }));
  const browserContext = await chromium.launchPersistentContext(profile, launchOptions);
  context.after(() => browserContext.close());
  const page = browserContext.pages()[0];
  const { faults } = watchPage(page, program.origin);
  await page.goto(program.origin);
  await enterKey(page, program.firstKey);
  await page.locator("#range", { hasText: "No animals yet." }).waitFor();
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
  await press(page, "Refresh");
  await notice(page, "No answer");
});

/** Brings the page into each of its states. */
const states = {
  "before a key": (page) => page.locator("summary").click(),
  "a mistyped key": (page) => page.locator("#key").fill("as_").then(() => page.locator("#key").press("Enter")),
  listed: (page, { firstKey }) => enterKey(page, firstKey).then(() => idle(page)),
  changed: (page) => press(page, "Sell animal 1").then(() => notice(page, "is sold")),
  "too late": (page, program) => changeStatus(program, 2, "sold").then(() => press(page, "Sell animal 2")).then(() => notice(page, "faster")),
  menu: (page) => page.getByRole("button", { name: "More for animal 1" }).click(),
  removal: (page) => page.locator("#menu button", { hasText: "Remove" }).click(),
  "none found": (page) => press(page, "Cancel").then(() => find(page, "77")),
  "another filter": (page) => choose(page, "Pending").then(() => page.locator("#range", { hasText: "No pending animals." }).waitFor()),
  "a wrong category": (page) => page.locator("#category-filter").fill("x").then(() => page.locator("#category-filter").press("Enter")),
  "new animal": (page) => press(page, "Show all animals").then(() => idle(page)).then(() => press(page, "New animal")),
  "new animal, wrong": async (page) => {
    await page.locator("#name").fill("Rex");
    await page.locator("#category").fill("x");
    await press(page, "Add");
  },
  correction: (page) => press(page, "Cancel").then(() => pressInMenu(page, 2, "Correct")).then(() => page.locator("#animal[open]").waitFor()),
  "correction, too late": async (page, program) => {
    await changeStatus(program, 2, "available");
    await page.locator("#name").fill("Rexy");
    await press(page, "Save");
    await page.locator("#animal-says", { hasText: "faster" }).waitFor();
  },
  "few requests left": async (page) => {
    await press(page, "Cancel");
    await page.route("**/v1/pets?*", async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, headers: { ...response.headers(), "x-ratelimit-remaining": "9" } });
    });
    await press(page, "Refresh");
    await page.locator("#quota", { hasText: "9 of" }).waitFor();
  },
  banned: (page) => refuse(page, "key_banned", 300).then(() => press(page, "Refresh")).then(() => notice(page, "banned")),
};

for (const [colorScheme, paper] of [["light", "rgb(244, 245, 243)"], ["dark", "rgb(16, 19, 18)"]]) {
  for (const viewport of [{ width: 1280, height: 900 }, { width: 320, height: 568 }]) {
    test(`the page is ${colorScheme} if the browser is, and axe finds no fault in any state, ${viewport.width} pixels wide`, { skip }, async (context) => {
      const program = await startProgram(context, { pets: ["Rex \u202e", "Misty"].map((name) => ({ name, categoryId: 1 })) });
      const { page } = await openConsole(context, program, { colorScheme, viewport, allowed: ["status of"], bypassCSP: true });
      assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), paper);
      await page.addScriptTag({ path: axePath });
      for (const [state, reach] of Object.entries(states)) {
        await reach(page, program);
        await judge(page, state);
      }
    });
  }
}

async function judge(page, state) {
  const violations = await page.evaluate(async () => {
    const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
    const found = await globalThis.axe.run(document, { runOnly: tags });
    return found.violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(" | ")}`);
  });
  assert.deepEqual(violations, [], state);
}

test("every result is announced to who cannot see the page, from regions that are there before it, and nothing moves", { skip }, async (context) => {
  const program = await startProgram(context, { pets: [{ name: "Rex", categoryId: 1 }] });
  const { page } = await openConsole(context, program, { reducedMotion: "reduce" });
  const session = await page.context().newCDPSession(page);
  await session.send("Accessibility.enable");
  const regions = async () => {
    const { nodes } = await session.send("Accessibility.getFullAXTree");
    return nodes.filter(({ role, ignored }) => role?.value === "status" && !ignored).length;
  };
  assert.equal(await regions(), 1, "the key's");
  await enterKey(page, program.firstKey);
  assert.equal(await regions(), 3, "range, notice and quota");
  await press(page, "New animal");
  assert.ok(await page.locator("#animal output").evaluate((node) => node.checkVisibility()), "the dialog's");
  const moving = await page.locator("*").evaluateAll((all) => all.filter((node) => {
    const { transitionDuration, animationName } = getComputedStyle(node);
    return transitionDuration !== "0s" || animationName !== "none";
  }).length);
  assert.equal(moving, 0);
});

test("the chosen status is seen where the system chooses the colours, too", { skip }, async (context) => {
  const { page } = await openWithKey(context, { forcedColors: "active" });
  await choose(page, "Sold");
  await idle(page);
  const backgrounds = await page.locator("#filter label > span").evaluateAll((all) => all.map((one) => getComputedStyle(one).backgroundColor));
  assert.equal(backgrounds.filter((one) => one === backgrounds[3]).length, 1, backgrounds.join());
});

test("a screen reader has a role and a name for each control, group and dialog", { skip }, async (context) => {
  const { page } = await openWithKey(context, { pets: [{ name: "Rex", categoryId: 1 }, { name: "Misty", categoryId: 2, status: "sold" }] });
  const named = async (selector) => {
    const lines = (await page.locator(selector).ariaSnapshot()).split("\n");
    return lines.flatMap((line) => /^ *- ([a-z]+ "[^"]*")/.exec(line)?.[1].replaceAll('"', "") ?? []);
  };
  const segments = ["radio Available", "radio Pending", "radio Sold"];
  assert.deepEqual(await named("#desk"), [
    ...["heading Animal Store", "link OpenAPI", "button Forget", "searchbox Number or part of a name", "button Find", "group Status", "radio All"],
    ...[...segments, "textbox Category", "button Refresh", "button New animal", "list Animals"],
    ...["button Reserve animal 1", "button Sell animal 1", "button More for animal 1", "button More for animal 2"],
  ]);
  await page.getByRole("button", { name: "More for animal 2" }).click();
  assert.deepEqual(await named("#menu"), ["group 2 Misty", "button Make available", "button Correct", "button Remove"]);
  await page.locator("#menu button", { hasText: "Remove" }).click();
  const title = "Remove animal 2, Misty?";
  assert.deepEqual(await named("#removal"), [`dialog ${title}`, `heading ${title}`, "button Remove", "button Cancel"]);
  await press(page, "Cancel");
  for (const [open, title, save] of [[() => press(page, "New animal"), "New animal", "Add"], [() => pressInMenu(page, 2, "Correct"), "Correct animal 2", "Save"]]) {
    await open();
    await page.locator("#animal[open]").waitFor();
    const status = save === "Add" ? ["group Status", ...segments] : [];
    const fields = ["textbox Name", "textbox Category", ...status];
    assert.deepEqual(await named("#animal"), [`dialog ${title}`, `heading ${title}`, ...fields, `button ${save}`, "button Cancel"]);
    await press(page, "Cancel");
  }
  await press(page, "Forget");
  await page.locator("summary").click();
  assert.deepEqual(await named("#access"), [
    ...["heading Animal Store", "textbox API key", "checkbox Show what I type", "checkbox Keep it in this tab", "button Use key"],
    "link OpenAPI description",
  ]);
});

/** From here on the service refuses the key: a real ban takes ten seconds with a refusal each. */
async function refuse(page, code, seconds) {
  const nowMs = await page.evaluate(() => Date.now());
  await page.route("**/v1/pets*", (route) => route.fulfill({
    status: 429,
    headers: {
      "Content-Type": "application/json; charset=utf-8",
      Date: new Date(nowMs).toUTCString(),
      "Retry-After": String(seconds),
      "X-RateLimit-Limit": "60",
      "X-RateLimit-Remaining": "0",
      "X-RateLimit-Reset": String(Math.floor(nowMs / 1_000) + seconds),
    },
    json: { code, message: "", status: 429 },
  }));
}
