/**
 * A day at the till: what a person who sells animals does at the page from morning to evening.
 */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { start } from "../../build/test/support/program.js";
import { changeStatus, closeBrowser, enterKey, idle, notice, openConsole, openWithKey, press, rows, skip, startProgram, statuses } from "./console.js";

after(closeBrowser);

const three = ["Rex", "Misty", "Otto"].map((name) => ({ name, categoryId: 1 }));
const isCalled = (line) => line.includes("/v1/");

test("a whole day by keyboard alone, on which the focus is always seen", { skip }, async (context) => {
  const program = await startProgram(context, { pets: three });
  await program.changeKey("plan", "--plan", "enterprise", "--per-minute", "40", "--per-day", "1000");
  const { page } = await openConsole(context, program, { clock: Date.now(), allowed: ["status of 412", "status of 429", "net::ERR_"] });
  const { tabTo, enter, unseen } = keyboard(page);

  // In the morning: the key, kept in this tab.
  assert.equal(await focused(page), "key");
  await page.keyboard.type(program.firstKey);
  await tabTo("keep");
  await page.keyboard.press("Space");
  await enter("#range", "1–3 as of");
  assert.equal(await focused(page), "wanted", "the next step has the focus");

  // A number finds an animal, with its buttons one Tab away.
  await page.keyboard.type("2");
  await enter("#range", "1 found");
  assert.equal(await focused(page), "2");

  // And so does a part of a name.
  await tabTo("wanted");
  await page.keyboard.type("ott");
  await enter("#range", "1 found");
  assert.equal(await focused(page), "3");
  await tabTo("to-list");
  await enter("#range", "1–3 as of");
  assert.equal(await focused(page), "1", "the button is gone, and the focus is in the list");
  await tabTo("category-filter");
  await page.keyboard.type("5");
  await enter("#range", "No animals in category 5.");
  await tabTo("to-list");
  await enter("#range", "1–3 as of");
  assert.equal(await focused(page), "1");

  // Three puppies are three names.
  await tabTo("new");
  for (const [index, name] of ["Ada", "Bo", "Cy"].entries()) {
    await page.keyboard.press("Enter");
    await page.keyboard.type(name);
    if (index === 0) {
      await page.keyboard.press("Tab");
      await page.keyboard.type("7");
    }
    await enter("#notice", `Animal ${index + 4} is added: ${name}`);
    assert.equal(await focused(page), "new");
  }

  // A mistyped one is corrected, and one too many removed: Enter twice at the dialog's beginning removes nothing.
  await tabTo("More for animal 6");
  await page.keyboard.press("Enter");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await page.locator("#animal[open]").waitFor();
  await page.keyboard.type("Cyd");
  await enter("#notice", "Animal 6 is corrected: Cyd");
  await tabTo("More for animal 5");
  for (const keys of [["Enter", "Tab", "Tab", "Enter", "Enter"], ["Enter", "Tab", "Tab", "Enter", "Shift+Tab"]]) {
    for (const key of keys) {
      await page.keyboard.press(key);
    }
    assert.equal((await rows(page)).length, 6);
  }
  await enter("#notice", "Animal 5 is removed: Bo");
  assert.equal(await focused(page), "6");

  // Reserve one; another till is faster with the next; sell the first.
  await tabTo("Reserve animal 4");
  await enter("#notice", "Animal 4 is reserved: Ada");
  await tabTo("Reserve animal 6");
  await changeStatus(program, 6, "sold");
  await enter("#notice", "Somebody else was faster: Cyd is already sold.");
  await tabTo("Sell animal 4");
  await enter("#notice", "Animal 4 is sold: Ada");
  await tabTo("Undo");
  await enter("#notice", "Animal 4 is reserved: Ada");
  await tabTo("Dismiss");
  await page.keyboard.press("Enter");
  assert.equal(await focused(page), "4", "the row of what was dismissed");

  // A reload enters the key again.
  await page.reload();
  await page.locator("#range", { hasText: "1–6" }).waitFor();
  await idle(page);
  assert.deepEqual(await statuses(page), ["available", "available", "available", "pending", "sold"]);

  // A used-up minute is waited out.
  await Promise.all(Array.from({ length: 40 }, () => list(program)));
  await tabTo("refresh");
  await enter("#notice", /^The requests of this key are used up\. Wait until .*\d+:\d\d/);
  await enter("#notice", "Not sent: wait until");
  await program.changeKey("reset"); // As if the minute had passed for the service, too.
  await page.clock.runFor(61_000);
  await enter("#range", "1–6");

  // The service is down, and up again.
  const { port } = new URL(program.origin);
  await program.stop();
  await enter("#notice", "No answer: the service is stopped, or the connection broke.");
  await tabTo("Dismiss");
  await page.keyboard.press("Enter");
  assert.equal(await focused(page), "refresh", "without a row, where to go on");
  const again = await start(undefined, ["--data", program.dataDir, "--port", port]);
  context.after(() => again.stop());
  await enter("#range", "1–6");
  await tabTo("Reserve animal 1");
  await enter("#notice", "Animal 1 is reserved: Rex");

  // In the evening nothing stays.
  await tabTo("forget");
  await enter("#key-says", "Forgotten.");
  assert.equal(await focused(page), "key");
  await page.reload();
  assert.ok(await page.getByLabel("API key").isVisible());
  assert.deepEqual(unseen, []);
});

test("the key's field is one for password managers, and shows what is typed on demand", { skip }, async (context) => {
  const program = await startProgram(context);
  const { page } = await openConsole(context, program);
  const field = page.getByLabel("API key");
  const shape = () => field.evaluate(({ type, autocomplete }) => [type, autocomplete]);
  assert.deepEqual(await shape(), ["password", "current-password"]);
  await field.fill(program.firstKey);
  await page.getByLabel("Show what I type").check();
  assert.deepEqual(await shape(), ["text", "current-password"]);
  await press(page, "Use key");
  await page.locator("#desk").waitFor();
  await idle(page);
  await press(page, "Forget");
  assert.deepEqual([...await shape(), await field.inputValue()], ["password", "current-password", ""]);
});

test("a key is kept in the tab only where the person asks for it, for this path, until Forget", { skip }, async (context) => {
  const program = await startProgram(context, { pets: three });
  const { page, requests } = await openConsole(context, program);
  const storage = () => page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }));
  await enterKey(page, program.firstKey);
  await idle(page);
  assert.equal(await storage(), "{}", "off by default");
  await press(page, "Forget");
  await page.getByLabel("Keep it in this tab").check();
  await enterKey(page, program.firstKey);
  await idle(page);
  assert.equal(await storage(), JSON.stringify({ "/ key": program.firstKey }));
  const before = requests.length;
  await page.reload();
  await page.locator("#range", { hasText: "1–3" }).waitFor();
  assert.deepEqual(requests.slice(before).filter(isCalled), ["GET /v1/limits", "GET /v1/pets"]);
  const other = await page.context().newPage();
  await other.goto(program.origin);
  assert.ok(await other.getByLabel("API key").isVisible(), "another tab has no key");
  await press(page, "Forget");
  assert.equal(await storage(), "{}");
  assert.ok(!(await page.evaluate(() => document.body.textContent)).includes("Misty"), "nothing of the animals stays");
});

test("a kept key that is no longer valid is asked for, and kept no more", { skip }, async (context) => {
  const program = await startProgram(context);
  const { page } = await openConsole(context, program, { allowed: ["status of 401"] });
  await page.getByLabel("Keep it in this tab").check();
  await enterKey(page, program.firstKey);
  await program.changeKey("revoke");
  await page.reload();
  await page.locator("#key-says", { hasText: "does not know this key" }).waitFor();
  assert.equal(await page.evaluate(() => sessionStorage.length), 0);
});

test("a browser that keeps nothing is as a new tab", { skip }, async (context) => {
  const program = await startProgram(context);
  const { page } = await openConsole(context, program);
  await page.addInitScript(() => Object.defineProperty(globalThis, "sessionStorage", { get: () => { throw new DOMException("", "SecurityError"); } }));
  await page.reload();
  await page.getByLabel("Keep it in this tab").check();
  await enterKey(page, program.firstKey);
  await page.locator("#range", { hasText: "No animals yet." }).waitFor();
});

test("a read-only key is known before the first press: nothing is offered that it may not do", { skip }, async (context) => {
  const program = await startProgram(context, { pets: three });
  const { page } = await openConsole(context, program, { allowed: ["status of"] });
  await enterKey(page, await program.createKey("--read-only"));
  await page.locator("#range", { hasText: "1–3" }).waitFor();
  assert.deepEqual(await page.locator("#desk button:visible").evaluateAll((all) => all.map(({ id, textContent }) => id || textContent)), ["forget", "Find", "refresh"]);
  assert.ok(await page.getByText("read-only key").isVisible());
  await press(page, "Forget");
  await page.route("**/v1/limits", (route) => route.fulfill({ json: { readOnly: false } }), { times: 1 });
  await enterKey(page, await program.createKey("--read-only"));
  await page.getByRole("button", { name: "Sell animal 1" }).click();
  await notice(page, "read-only");
  assert.ok(await page.getByText("read-only key").isVisible(), "the service has said so meanwhile");
  assert.ok(await page.getByRole("button", { name: "Sell animal 1" }).isHidden());
  await press(page, "Forget");
  await enterKey(page, program.firstKey);
  await press(page, "Sell animal 1");
  await notice(page, "is sold");
  assert.ok(await page.getByText("read-only key").isHidden());
});

for (const [name, status, body, text] of [
  ["used up", 429, '{"code":"rate_limited","message":"","status":429}', "The requests of this key are used up."],
  ["banned", 429, '{"code":"key_banned","message":"","status":429}', "This key is banned"],
  ["met by the service's 503", 503, '{"code":"storage_unavailable","message":"Try again later.","status":503}', "Try again later."],
  ["met by a proxy's 502", 502, "<h1>Bad gateway</h1>", "A server in between answered (502)."],
]) {
  test(`a key that is ${name} is not asked for again, and the catalogue says why it is not listed`, { skip }, async (context) => {
    const program = await startProgram(context);
    const { page } = await openConsole(context, program, { allowed: ["status of"] });
    await page.route("**/v1/limits", (route) => route.fulfill({ status, body, headers: status === 503 ? { "Retry-After": "1" } : {} }), { times: 1 });
    await enterKey(page, program.firstKey);
    assert.ok(await page.locator("#desk").isVisible());
    const said = await page.locator("#notice").innerText();
    assert.ok(said.startsWith(text) && !said.includes("Wait"), said);
    assert.equal(await page.locator("#range").innerText(), "Nothing is listed yet. Press Refresh.");
    await press(page, "Refresh");
    await page.locator("#range", { hasText: "No animals yet." }).waitFor();
  });
}

test("junk from something in between is explained, never an error of the page", { skip }, async (context) => {
  const { page } = await openWithKey(context, { pets: three, allowed: ["status of"] });
  const junk = ["[null]", "[1]", '[{"id":1}]', '[{"id":1,"name":{"a":1},"categoryId":[],"status":null}]', '"x"', "7", "null", "<html>", '{"code":{"toString":1},"message":{"toString":1}}'];
  for (const status of [200, 201, 412, 500]) {
    const between = `A server in between answered (${status}). Try again; if it goes on, tell whoever runs the service.`;
    for (const body of junk) {
      await page.route("**/v1/**", (route) => route.fulfill({ status, body, headers: { "Content-Type": "application/json" } }));
      for (const name of ["Refresh", "Reserve animal 1", "Find"]) {
        await press(page, name);
        await idle(page);
        assert.equal(await page.locator("#notice").innerText(), between, `${name}: ${status} ${body}`);
      }
      await page.unroute("**/v1/**");
    }
  }
  assert.deepEqual((await rows(page)).map(([id]) => id), ["1", "2", "3"]);
});

/** What the keyboard does, and the elements that had the focus without showing it. */
function keyboard(page) {
  const unseen = [];
  /** @param wanted the id, or the accessible name, of the element */
  const tabTo = async (wanted) => {
    for (let count = 0; count < 80; count++) {
      await page.keyboard.press("Tab");
      const focus = await page.evaluate(() => {
        const { id, ariaLabel, innerText, type } = document.activeElement;
        const shown = type === "radio" ? document.activeElement.nextElementSibling : document.activeElement;
        const { outlineStyle, outlineWidth } = getComputedStyle(shown);
        const isOutside = document.activeElement === document.body; // Past the end, in the browser's own controls.
        return { id, name: ariaLabel ?? innerText, isSeen: isOutside || (outlineStyle !== "none" && parseFloat(outlineWidth) >= 2) };
      });
      if (!focus.isSeen) {
        unseen.push(focus);
      }
      if (focus.id === wanted || focus.name === wanted) {
        return;
      }
    }
    assert.fail(`Tab does not reach ${wanted}`);
  };
  const enter = async (selector, text) => {
    await page.keyboard.press("Enter");
    await page.locator(selector, { hasText: text }).waitFor();
    await idle(page);
  };
  return { tabTo, enter, unseen };
}

/** The id of what has the focus; of a row the animal's number. */
function focused(page) {
  return page.evaluate(() => document.activeElement.id || document.activeElement.dataset.id);
}

async function list({ apiUrl, firstKey }) {
  await fetch(`${apiUrl}/pets`, { headers: { Authorization: `Bearer ${firstKey}` } });
}
