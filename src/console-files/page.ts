/**
 * The console's document. Every address in it is relative, so that it works below any prefix of a proxy. Tags and
 * quotation marks that HTML lets a document omit are omitted.
 */

export const page = `<!doctype html>
<html lang=en>
<meta charset=utf-8>
<meta name=viewport content="width=device-width">
<title>Animal store console</title>
<link rel=icon href="favicon.ico">
<link rel=stylesheet href="console/style.css">
<script type=module src="console/main.js"></script>
<header>
  <h1>Animal store</h1>
  <nav aria-label=Sections>
    <a href="#catalogue">Catalogue</a>
    <a href="#wire">Requests</a>
    <a href="#reference">Reference</a>
  </nav>
</header>
<main>
<noscript>This page needs JavaScript; the API does not.</noscript>
<section id=access>
  <div>
    <h2>Key</h2>
    <form id=key-form autocomplete=off>
      <p>The first start printed one; <code>node dist/server.js keys create</code> makes another.</p>
      <div class=row>
        <label class=wide>API key <input id=key class=secret
          spellcheck=false aria-describedby=key-hint></label>
        <button class=main>Use key</button>
      </div>
      <p id=key-hint class=hint>It stays in this page's memory: reloading forgets it.</p>
    </form>
    <div id=key-in-use class=row hidden>
      <code id=key-begin></code>
      <button id=refresh>Ask for the quota</button>
      <button id=forget>Forget the key</button>
    </div>
    <div id=key-notice class=notice role=status></div>
  </div>
  <div>
    <h2>Quota</h2>
    <p class=hint>Every request takes one from both; a 429 takes none.</p>
    <div id=meters hidden>
      <label for=minute>Minute</label> <span id=minute-left></span>
      <meter id=minute min=0></meter> <span id=minute-reset class=hint></span>
      <label for=day>Day</label> <span id=day-left></span>
      <meter id=day min=0></meter> <span id=day-reset class=hint></span>
    </div>
    <p>“Ask for the quota” shows what is left.</p>
    <div id=wait class=notice role=status></div>
    <p id=wait-left role=timer></p>
  </div>
</section>
<div id=desk>
<div>
<section id=catalogue>
  <h2>Catalogue</h2>
  <form id=list-form class=row>
    <label>Status <select id=list-status>
      <option value="">any<option>available<option>pending<option>sold
    </select></label>
    <label>Page size <input id=limit type=number value=20></label>
    <button id=list class=main>List animals</button>
  </form>
  <div id=list-notice class=notice role=status>Nothing is listed yet.</div>
  <table id=table hidden>
    <thead><tr>
      <th>Id<th>Name
      <th class=number>Category<th>Status
    </thead>
    <tbody id=pets></tbody>
  </table>
  <div id=pages class=row hidden>
    <button id=back>Back</button>
    <span id=page></span>
    <button id=next>Next</button>
  </div>
</section>
<section>
  <h2>Add an animal</h2>
  <form id=add-form class=row autocomplete=off>
    <label class=wide>Name <input id=name></label>
    <label class=wide>Category <input id=category aria-describedby=add-notice></label>
    <label>Status <select id=status>
      <option>available<option>pending<option>sold
    </select></label>
    <button id=add class=main>Add</button>
    <button id=send-again type=button hidden>Send again</button>
  </form>
  <div id=add-notice class=notice role=status></div>
</section>
</div>
<section id=wire>
  <h2>Requests and responses</h2>
  <p class=hint>The last ten, newest first. <code>KEY=as_…</code> in a shell makes the curl lines work.</p>
  <p id=no-requests>Nothing is sent yet.</p>
  <div id=copy-notice class=hint role=status></div>
  <ol id=requests></ol>
</section>
</div>
<section id=reference>
  <h2>Reference</h2>
  <p class=hint>From <a href="openapi.json">openapi.json</a>.</p>
  <div id=reference-body></div>
</section>
</main>
`;
