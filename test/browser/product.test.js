/**
 * What makes the console calm to work with: what is left at a glance, a catalogue that follows what is added, and buttons
 * that rest.
 */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { add, closeBrowser, enterKey, openConsole, openWithKey, skip, startProgram } from "./console.js";

after(closeBrowser);

const phone = { width: 375, height: 667 };
const three = ["Rex", "Misty", "Otto"].map((name) => ({ name, categoryId: 1 }));

test("on a phone the first animals are on the first screen", { skip }, async (context) => {
  const { page } = await openWithKey(context, { pets: three, viewport: phone });
  const { y, height } = await page.locator("#pets tr").nth(2).boundingBox();
  assert.ok(y + height < phone.height, `the third animal ends at ${y + height}`);
  assert.equal(await page.evaluate(() => scrollY), 0);
});

test("the meters change colour below a fifth and a twentieth", { skip }, async (context) => {
  const { page } = await openWithKey(context);
  await page.route("**/v1/pets*", (route) => route.fulfill({ json: [] }));
  for (const remaining of [20, 19, 4, 0]) {
    const reset = Math.ceil(Date.now() / 1_000) + 50;
    await page.route("**/v1/limits", (route) => route.fulfill({
      headers: { "X-RateLimit-Limit": "100", "X-RateLimit-Remaining": String(remaining), "X-RateLimit-Reset": String(reset) },
      body: JSON.stringify({ plan: "pro", minute: { limit: 100, remaining, reset }, day: { limit: 9000, remaining: 8000, reset: reset + 9e4 } }),
    }));
    await page.getByRole("button", { name: "Refresh" }).click();
    await page.locator("#minute-left", { hasText: `${remaining} of 100` }).waitFor();
    const meter = await page.locator("#minute").evaluate(({ value, high, low, optimum }) => [value >= high, value >= low, optimum]);
    assert.deepEqual(meter, [remaining >= 20, remaining >= 5, 100]);
  }
  assert.equal(await page.locator("#plan").innerText(), "pro plan");
});

test("an added animal is shown on the last page, marked, with its status as a badge", { skip }, async (context) => {
  const { page, requests } = await openWithKey(context);
  const before = requests.length;
  for (const [index, name] of ["Rex", "Misty"].entries()) {
    await add(page, name);
    await page.locator("#range", { hasText: index === 0 ? "Animal 1 (end)" : "Animals 1 to 2 (end)" }).waitFor();
    assert.deepEqual(await page.locator(".marked .name").allInnerTexts(), [`${name} new`]);
  }
  assert.equal(requests.length, before + 2, "nothing but the two additions was sent");
  assert.deepEqual(await page.locator("#pets .badge").allInnerTexts(), ["available", "available"]);
  await page.locator("#list-status").selectOption("sold");
  await page.locator("#range", { hasText: "No animal is sold" }).waitFor();
  await add(page, "Otto");
  await page.locator("#notice", { hasText: "Animal 3 is added" }).waitFor();
  assert.ok(await page.locator("#table").isHidden(), "it is not sold");
});

test("Show it opens the page of an animal that was added to another one", { skip }, async (context) => {
  const program = await startProgram(context, { pets: three });
  const { page } = await openConsole(context, program);
  await page.getByLabel("Page size").fill("2");
  await enterKey(page, program.firstKey);
  await add(page, "Luna");
  await page.locator("#notice", { hasText: "Animal 4 is added" }).waitFor();
  assert.equal(await page.locator(".marked").count(), 0);
  await page.getByRole("button", { name: "Show it" }).click();
  await page.locator("#range", { hasText: "Animal 4 (end)" }).waitFor();
  assert.deepEqual(await page.locator(".marked .name").allInnerTexts(), ["Luna new"]);
  await page.getByRole("button", { name: "Back" }).click();
  await page.locator("#range", { hasText: /^Animals 1 to 2$/ }).waitFor();
});

test("on a phone tables stack: each row has its name beside its id, and its category says what it is", { skip }, async (context) => {
  const pets = ['{"name":"A name of some length that needs room","categoryId":-9223372036854775808}'];
  const { page } = await openWithKey(context, { pets, viewport: phone });
  const cells = await page.locator("#pets tr").first().locator("td").all();
  const boxes = await Promise.all(cells.map((cell) => cell.boundingBox()));
  assert.ok(boxes[1].width > 250, `the name has ${boxes[1].width} pixels`);
  assert.ok(boxes[2].y > boxes[1].y && boxes[4].y > boxes[1].y, "category and buttons are below it");
  assert.ok(boxes.every(({ x, width }) => x >= 0 && x + width <= phone.width));
  assert.equal(await cells[2].evaluate((node) => getComputedStyle(node, "::before").content), '"Category "');
});

test("while the key is refused the buttons rest and say until when", { skip }, async (context) => {
  const { page, requests } = await openWithKey(context, { clock: Date.now(), allowed: ["status of 429"] });
  await page.route("**/v1/pets*", (route) => route.fulfill({
    status: 429,
    headers: { Date: new Date().toUTCString(), "Retry-After": "40", "X-RateLimit-Limit": "60", "X-RateLimit-Reset": "1" },
    body: '{"code":"rate_limited","message":"The minute is used up.","status":429}',
  }));
  const list = page.getByRole("button", { name: "List animals" });
  await list.click();
  const until = /until (.*\d+:\d\d:\d\d [AP]M)/.exec(await page.locator("#wait", { hasText: "has to wait until" }).innerText())[1];
  const before = requests.length;
  await page.locator("#name").fill("Rex");
  await page.getByLabel("Category").fill("1");
  for (const press of [
    () => list.click({ force: true }),
    () => page.locator("#name").press("Enter"),
    () => page.getByRole("button", { name: "Refresh" }).click({ force: true }),
  ]) {
    await press();
    assert.equal(await page.locator("#notice").innerText(), `Not sent: wait until ${until}.`);
  }
  for (const button of await page.locator(".sends").all()) {
    assert.equal(await button.getAttribute("aria-disabled"), "true");
  }
  assert.equal(requests.length, before, "nothing was sent");
  await page.clock.runFor(45_000);
  assert.equal(await list.getAttribute("aria-disabled"), "false", "the wait is over");
  assert.equal(await page.locator("#notice").innerText(), "", "and so is what said it");
  assert.equal(await page.locator("#next").getAttribute("aria-disabled"), "true", "there still is no next page");
});
