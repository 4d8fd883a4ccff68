/** A phone, and a page in the words of its reader: what fits, how large targets are, what a browser says. */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { add, closeBrowser, notice, openWithKey, press, pressInMenu, skip } from "./console.js";

after(closeBrowser);

const phone = { width: 360, height: 740 };
/** As wide as an animal can be. */
const widest = ["W".repeat(255), "\u202e".repeat(60)].map((name) => `{"name":"${name}","categoryId":-9223372036854775808,"status":"sold"}`);
const pets = Array.from({ length: 120 }, (_, index) => ({ id: index + 1, name: `Rex ${index}`, categoryId: 12, status: ["available", "pending", "sold"][index % 3] }));

test("on a phone five animals fit into the window, also with numbers of three digits and with a notice", { skip }, async (context) => {
  const { page } = await openWithKey(context, { pets: [{ name: "Rex", categoryId: 1 }], viewport: phone });
  const whole = () => page.locator("#pets li").evaluateAll((all) => all.filter((row) =>
    row.getBoundingClientRect().bottom <= document.getElementById("page").getBoundingClientRect().bottom).length);
  await press(page, "Sell animal 1");
  await notice(page, "is sold");
  for (const from of [0, 100]) {
    await page.route("**/v1/pets?*", (route) => route.fulfill({ json: pets.slice(from, from + 20) }), { times: 1 });
    await press(page, "Refresh");
    await page.locator(`[data-id="${from + 1}"]`).waitFor();
    assert.ok((await whole()) >= 5, `${await whole()} from ${from}`);
  }
  assert.equal(await page.evaluate(() => document.getElementById("page").scrollTop), 0);
});

for (const viewport of [phone, { width: 320, height: 568 }]) {
  test(`every target is at least 36 pixels high, ${viewport.width} pixels wide, and nothing scrolls sideways`, { skip }, async (context) => {
    const { page } = await openWithKey(context, { pets: [{ name: "Rex", categoryId: 1 }, ...widest], viewport });
    const judge = async (state) => {
      const targets = "button, input:not([type=radio], [type=checkbox]), summary, a, .segments label, .check";
      const low = await page.locator(targets).evaluateAll((all) => all
        .filter((one) => one.checkVisibility({ visibilityProperty: true }) && one.getBoundingClientRect().height < 36 && !one.matches("details a"))
        .map((one) => `${one.outerHTML} ${one.getBoundingClientRect().height}`));
      assert.deepEqual(low, [], state);
      const wide = await page.evaluate(() => [document.documentElement, ...document.querySelectorAll("#page, dialog, #menu")].filter((one) => one.scrollWidth > one.clientWidth).length);
      assert.equal(wide, 0, state);
    };
    await press(page, "Sell animal 1");
    await notice(page, "is sold");
    await judge("with a notice");
    await page.getByRole("button", { name: "More for animal 2" }).click();
    await judge("menu");
    await page.keyboard.press("Escape");
    await pressInMenu(page, 2, "Remove");
    await judge("removal");
    await press(page, "Cancel");
    await pressInMenu(page, 2, "Correct");
    await page.locator("#animal[open]").waitFor();
    await judge("correction");
    await press(page, "Cancel");
    const many = '[{"id":9223372036854775807,"name":"Rex","categoryId":7,"status":"available"}]';
    await page.route("**/v1/pets?*", (route) => route.fulfill({ body: many }), { times: 1 });
    await press(page, "Refresh");
    await page.locator("#pets", { hasText: "9223372036854775807" }).waitFor();
    await judge("many animals");
    await press(page, "New animal");
    await judge("new");
    await press(page, "Cancel");
    await press(page, "Forget");
    await page.locator("summary").click();
    await judge("before a key");
  });
}

test("mistakes are told by the browser, in the reader's language, before a request is sent", { skip }, async (context) => {
  const { page, requests } = await openWithKey(context);
  const before = requests.length;
  await press(page, "New animal");
  for (const [value, isFound] of [
    ["", ({ valueMissing }) => valueMissing],
    ["   ", ({ patternMismatch }) => patternMismatch],
    ["🦊".repeat(256), ({ patternMismatch }) => patternMismatch],
  ]) {
    await page.locator("#category").fill("1");
    await page.locator("#name").fill(value);
    await press(page, "Add");
    const state = await page.locator("#name").evaluate(({ validity }) => Object.fromEntries(Object.keys(ValidityState.prototype).map((key) => [key, validity[key]])));
    assert.ok(isFound(state), value.slice(0, 4));
    assert.equal(await page.evaluate(() => document.activeElement.id), "name");
  }
  assert.equal(requests.length, before);
  await press(page, "Cancel");
  await add(page, "🦊".repeat(255));
  await notice(page, "Animal 1 is added");
});
