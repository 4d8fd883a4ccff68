/** A phone, and a page in the words of its reader: what is one press away, how large targets are, what a browser says. */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { closeBrowser, openWithKey, skip } from "./console.js";

after(closeBrowser);

const pets = ["Rex", "Misty", "Otto"].map((name) => ({ name, categoryId: 1 }));

test("on a phone adding is one press away, and every target is at least 36 pixels high", { skip }, async (context) => {
  const { page } = await openWithKey(context, { pets, viewport: { width: 360, height: 740 } });
  await page.getByRole("button", { name: "Sell animal 1" }).click();
  await page.getByRole("button", { name: "Undo" }).waitFor();
  const low = await page.locator("button, input:not([type=checkbox]), select, summary, nav a, #to-add, .check").evaluateAll((all) => all
    .filter((one) => one.checkVisibility({ visibilityProperty: true }) && one.getBoundingClientRect().height < 36)
    .map((one) => `${one.outerHTML} ${one.getBoundingClientRect().height}`));
  assert.deepEqual(low, []);
  await page.getByRole("link", { name: "New animal" }).click();
  assert.equal(await page.evaluate(() => document.activeElement.id), "name");
  const { y, height } = await page.locator("#name").boundingBox();
  assert.ok(y >= 0 && y + height < (await page.locator("#bar").boundingBox()).y, "above the bar");
});

test("mistakes are told by the browser, in the reader's language, before a request is sent", { skip }, async (context) => {
  const { page, requests } = await openWithKey(context, { pets });
  const before = requests.length;
  for (const [field, value, button, isFound] of [
    ["#name", "   ", "Add", ({ patternMismatch }) => patternMismatch],
    ["#name", "🦊".repeat(256), "Add", ({ patternMismatch }) => patternMismatch],
    ["#limit", "0", "List animals", ({ rangeUnderflow }) => rangeUnderflow],
    ["#limit", "101", "List animals", ({ rangeOverflow }) => rangeOverflow],
  ]) {
    await page.locator("#category").fill("1");
    await page.locator(field).fill(value);
    await page.getByRole("button", { name: button, exact: true }).click();
    const state = await page.locator(field).evaluate(({ validity }) => Object.fromEntries(Object.keys(ValidityState.prototype).map((key) => [key, validity[key]])));
    assert.ok(isFound(state), `${field} ${value.slice(0, 4)}`);
    assert.equal(await page.evaluate(() => `#${document.activeElement.id}`), field);
  }
  assert.equal(requests.length, before);
  await page.locator("#name").fill("🦊".repeat(255));
  await page.getByRole("button", { name: "Add", exact: true }).click();
  await page.locator("#notice", { hasText: "Animal 4 is added" }).waitFor();
});
