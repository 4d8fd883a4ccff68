/** A phone, and a page in the words of its reader: what fits, how large targets are, what a browser says. */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { add, closeBrowser, notice, openWithKey, press, pressInMenu, skip } from "./console.js";

after(closeBrowser);

const phone = { width: 360, height: 740 };
const pets = Array.from({ length: 120 }, (_, index) => ({ id: index + 1, name: `Rex ${index}`, categoryId: 12, status: ["available", "pending", "sold"][index % 3] }));

/** Lists these animals instead of the catalogue's. */
async function show(page, json) {
  await page.route("**/v1/pets?*", (route) => route.fulfill({ json }), { times: 1 });
  await press(page, "Refresh");
  await page.locator(`[data-id="${json[0].id}"]`).waitFor();
}

test("on a phone five animals fit into the window, also with numbers of three digits and with a notice", { skip }, async (context) => {
  const { page } = await openWithKey(context, { pets: [{ name: "Rex", categoryId: 1 }], viewport: phone });
  const whole = () => page.locator("#pets li").evaluateAll((all) => all.filter((row) =>
    row.getBoundingClientRect().bottom <= document.getElementById("page").getBoundingClientRect().bottom).length);
  await press(page, "Sell animal 1");
  await notice(page, "is sold");
  for (const from of [0, 100]) {
    await show(page, pets.slice(from, from + 20));
    assert.ok((await whole()) >= 5, `${await whole()} from ${from}`);
  }
  assert.equal(await page.evaluate(() => document.getElementById("page").scrollTop), 0);
});

test("on a phone a row has number, name and status in a line, category and buttons in the next", { skip }, async (context) => {
  const { page } = await openWithKey(context, { viewport: phone });
  await show(page, pets.slice(0, 2));
  const row = page.locator("#pets li").first();
  const [number, name, pill, category, more] = await Promise.all([".number", "strong", ".pill", ".category", ".more"].map((part) => row.locator(part).boundingBox()));
  assert.ok(number.x < name.x && name.x + name.width <= pill.x && Math.abs(number.y - name.y) < 3 && Math.abs(name.y - pill.y) < 3);
  assert.ok(category.x < more.x && category.y > name.y && more.y + more.height > category.y && more.x + more.width <= phone.width);
  assert.equal(await row.locator(".category").innerText(), "Category 12");
});

test("the tools stand in one line from 1025 pixels on, in two from 480, else in three, and nothing stands alone", { skip }, async (context) => {
  const { page } = await openWithKey(context);
  for (const [width, expected] of [[1280, 1], [1025, 1], [1024, 2], [900, 2], [768, 2], [641, 2], [640, 2], [480, 2], [360, 3], [320, 3]]) {
    await page.setViewportSize({ width, height: 740 });
    const lines = await page.locator("#find-form, #new, #filter > *, #refresh").evaluateAll((all) => {
      const middles = all.map((one) => Math.round(one.getBoundingClientRect().top + one.offsetHeight / 2));
      return Object.values(Object.groupBy(middles, (middle) => middle)).map((line) => line.length);
    });
    assert.equal(lines.length, expected, `${width}`);
    assert.ok(lines.every((count) => count > 1 || width < 480), `${width}: ${lines}`);
  }
});

for (const viewport of [phone, { width: 320, height: 568 }]) {
  test(`every target is at least 36 pixels high, ${viewport.width} pixels wide, and nothing scrolls sideways`, { skip }, async (context) => {
    const { page } = await openWithKey(context, { pets: [{ name: "Rex", categoryId: 1 }, { name: "W".repeat(200), categoryId: 1, status: "sold" }], viewport });
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
