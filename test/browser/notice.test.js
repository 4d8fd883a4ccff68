/**
 * What the page says of a request under way, of what happened, and of a press that does not count: in one notice, which
 * is in view, and covers nothing.
 */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { add, choose, closeBrowser, enterKey, idle, notice, openConsole, openWithKey, press, pressInMenu, skip, startProgram } from "./console.js";

after(closeBrowser);

const pets = ["Rex", "Misty", "Otto"].map((name) => ({ name, categoryId: 1 }));
const phone = { width: 360, height: 740 };

/** Whatever sends a request: how to do it, and the request. */
const senders = {
  Refresh: [(page) => press(page, "Refresh"), "GET /v1/pets"],
  Sell: [(page) => press(page, "Sell animal 1"), "PATCH /v1/pets/1"],
  Next: [(page) => press(page, "Next"), "GET /v1/pets"],
  Add: [(page) => add(page, "Ada"), "POST /v1/pets"],
  Find: [(page) => page.locator("#wanted").fill("2").then(() => press(page, "Find")), "GET /v1/pets"],
  "Back to the list": [(page) => press(page, "Back to the list"), "GET /v1/pets"],
  "a status": [(page) => choose(page, "Available"), "GET /v1/pets"],
  Correct: [(page) => pressInMenu(page, 2, "Correct"), "GET /v1/pets/2"],
};

/** From here on requests wait until `respond` is called. */
async function hold(page) {
  let release;
  const released = new Promise((resolve) => (release = resolve));
  await page.route("**/v1/**", async (route) => {
    await released;
    await route.continue();
  });
  return async () => {
    release();
    await idle(page);
    await page.unroute("**/v1/**");
  };
}

/** The program with a second page, and its console without a key yet. */
async function openTwoPages(context, options) {
  const program = await startProgram(context);
  await program.importPets(Array.from({ length: 41 }, (_, index) => pets[index] ?? pets[0]));
  return { program, ...await openConsole(context, program, options) };
}

test("where 4 s pass between request and response, the page shows it from 300 ms on, whatever sent it", { skip }, async (context) => {
  const { program, page } = await openTwoPages(context, { clock: Date.now() });
  const said = () => page.locator(".says").evaluateAll((all) => all.filter((one) => one.checkVisibility()).map((one) => one.textContent).join(""));
  await page.locator("#key").fill(program.firstKey);
  await page.clock.pauseAt(Date.now() + 60_000);
  for (const act of [(one) => press(one, "Use key"), ...Object.values(senders).map(([send]) => send)]) {
    const respond = await hold(page);
    await act(page);
    await page.locator("body[aria-busy=true]").waitFor();
    await page.clock.runFor(299);
    assert.equal(await said(), "", `${act}: nothing flickers`);
    await page.clock.runFor(1);
    assert.equal(await said(), "Waiting for the answer…", `${act}`);
    await page.clock.runFor(3_700);
    assert.equal(await said(), "Waiting for the answer…");
    await page.waitForFunction(() => getComputedStyle([...document.querySelectorAll(".sends")].find((one) => one.checkVisibility())).opacity === "0.5");
    assert.equal(await page.evaluate(() => getComputedStyle(document.body).cursor), "progress");
    await respond();
    assert.doesNotMatch(await said(), /Waiting/);
  }
});

for (const [name, [send, line]] of Object.entries(senders).filter(([one]) => one !== "Back to the list")) {
  test(`a double click is one press, and the page does not say that it was not done: ${name}`, { skip }, async (context) => {
    const { program, page, requests } = await openTwoPages(context);
    await enterKey(page, program.firstKey);
    const respond = await hold(page);
    const before = requests.length;
    await page.evaluate(() => document.addEventListener("click", ({ target, detail }) => {
      if (detail === 1 && target.matches("button")) { // What a mouse sends at a second click.
        target.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, detail: 2 }));
      }
    }));
    await send(page);
    await page.locator("body[aria-busy=true]").waitFor();
    assert.doesNotMatch(await page.locator("#notice").textContent(), /^Not/);
    await respond();
    assert.equal(requests.slice(before).filter((one) => one === line).length, 1);
  });
}

test("what happened, errors, and why a press did not count are in view wherever one has scrolled, and go when they are over", { skip }, async (context) => {
  const { page } = await openWithKey(context, { viewport: phone, clock: Date.now(), allowed: ["net::ERR_", "status of 429"] });
  const hundred = Array.from({ length: 100 }, (_, index) => ({ id: index + 1, name: `A${index + 1}`, categoryId: 1, status: "available" }));
  await page.route("**/v1/pets?*", (route) => route.fulfill({ json: hundred, headers: { Link: '</v1/pets?after=100>; rel="next"' } }));
  await press(page, "Refresh");
  await page.locator("#pets li").nth(60).scrollIntoViewIfNeeded();
  const isSaid = async (text) => {
    await notice(page, text);
    const { y, height } = await page.locator("#notice").boundingBox();
    assert.ok(y >= 0 && y + height <= phone.height, `${text} is at ${y}`);
    assert.equal(await page.locator("output.says:visible").filter({ hasText: /\w/ }).count(), 1, "one notice");
  };
  await page.route("**/v1/pets?*", (route) => route.abort());
  await page.locator("#next").evaluate((button) => button.click());
  await isSaid("No answer");
  await page.route("**/v1/pets/61", (route) => route.fulfill({ json: { ...hundred[60], status: "sold" } }));
  await press(page, "Sell animal 61");
  await isSaid("Animal 61 is sold: A61");
  let respond;
  await page.route("**/v1/pets/62", (route) => (respond = () => route.fulfill({ json: { ...hundred[61], status: "sold" } })));
  await Promise.all([page.waitForRequest("**/v1/pets/62"), press(page, "Sell animal 62")]);
  await press(page, "Sell animal 63");
  await isSaid("Not sent: a request is under way.");
  await respond();
  await isSaid("Animal 62 is sold: A62");
  await page.route("**/v1/pets/63", (route) => route.fulfill({
    status: 429,
    headers: { Date: new Date().toUTCString(), "Retry-After": "40", "X-RateLimit-Limit": "60", "X-RateLimit-Reset": "1" },
    json: { code: "rate_limited", message: "", status: 429 },
  }));
  await press(page, "Sell animal 63");
  await isSaid("are used up");
  assert.equal(await page.locator(".marked .number").innerText(), "63", "the row that the failed press was about");
  await page.getByRole("button", { name: "Sell animal 64" }).press("Enter");
  await isSaid(/^Not sent: wait until .*\d+:\d\d/);
  await page.clock.runFor(45_000);
  assert.equal(await page.locator("#notice").textContent(), "", "the wait is over");
});

for (const viewport of [phone, { width: 320, height: 568 }, { width: 1280, height: 900 }]) {
  test(`the notice lies on nothing, however long it is, and what was changed is beside it, ${viewport.width} pixels wide`, { skip }, async (context) => {
    const { page } = await openWithKey(context, { pets: [...pets, ...pets, ...pets, ...pets, ...pets, { name: "W".repeat(100), categoryId: 1 }], viewport });
    await press(page, "Sell animal 16");
    await notice(page, "Animal 16 is sold");
    const boxes = await page.evaluate(() => ["#page", "#notice", ".marked .more", "footer"].map((one) => document.querySelector(one).getBoundingClientRect().toJSON()));
    const [list, said, more, foot] = boxes;
    assert.ok(list.bottom <= said.top, "the list ends above the notice");
    assert.ok(more.bottom <= list.bottom && more.top >= 0, "the changed row is in view");
    assert.ok(said.height <= viewport.height * 0.3 && foot.bottom <= viewport.height);
    await press(page, "Dismiss");
    assert.equal(await page.evaluate(() => document.getElementById("page").getBoundingClientRect().bottom), viewport.height, "its room is given back");
  });
}

test("a press clears what the last one said", { skip }, async (context) => {
  const { program, page } = await openWithKey(context, { pets });
  for (const [act, text] of [
    [() => press(page, "Sell animal 1"), "is sold"],
    [() => page.locator("#category-filter").fill("x").then(() => page.locator("#category-filter").press("Enter")), "whole number"],
  ]) {
    await act();
    await notice(page, text);
  }
  await press(page, "Forget");
  await page.locator("#key-says", { hasText: "Forgotten." }).waitFor();
  await enterKey(page, program.firstKey);
  assert.equal(await page.locator("#notice").textContent(), "");
});

test("what was said of a request under way goes with it, also where the outcome says nothing", { skip }, async (context) => {
  const { page } = await openWithKey(context, { pets });
  const respond = await hold(page);
  await press(page, "Refresh");
  await press(page, "Forget");
  await notice(page, "Not sent: a request is under way.");
  await respond();
  assert.equal(await page.locator("#notice").textContent(), "");
});

test("a request without an answer is given up after 30 s, as the client does, and the next press counts", { skip }, async (context) => {
  const { page } = await openWithKey(context, { pets });
  await page.evaluate(() => {
    const timeout = AbortSignal.timeout.bind(AbortSignal);
    AbortSignal.timeout = (ms) => timeout((globalThis.limitMs = ms) / 100); // The test waits for a hundredth of it.
  });
  await page.route("**/v1/pets?*", () => {}, { times: 1 });
  await press(page, "Refresh");
  await notice(page, "No answer");
  assert.equal(await page.evaluate(() => globalThis.limitMs), 30_000);
  await press(page, "Forget");
  await page.locator("#key-says", { hasText: "Forgotten." }).waitFor();
});
