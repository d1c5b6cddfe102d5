// Opens files in the real speedscope and prints a line of JSON for each: what
// its window's title says and which errors it met.
"use strict";
const fs = require("fs");
const http = require("http");
const path = require("path");
const { launch, open } = require("./browser.js");

const RELEASE = path.join(path.dirname(require.resolve("speedscope/package.json")),
  "dist/release");
const TYPES = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css" };

// speedscope asks for its own files and, below /input, for the profiles.
function serve(files) {
  const server = http.createServer((request, response) => {
    const name = decodeURIComponent(request.url.split("?")[0]);
    const input = /^\/input\/(\d+)$/.exec(name);
    fs.readFile(input ? files[Number(input[1])] : path.join(RELEASE, name), (error, bytes) => {
      const type = TYPES[path.extname(name)] || "application/octet-stream";
      response.writeHead(error ? 404 : 200, { "content-type": type });
      response.end(bytes);
    });
  });
  return new Promise((done) => server.listen(0, "127.0.0.1", () => done(server)));
}

async function main(files) {
  const server = await serve(files);
  const base = "http://127.0.0.1:" + server.address().port;
  const browser = await launch();
  for (let i = 0; i < files.length; i++) {
    const url = base + "/index.html#profileURL=" + encodeURIComponent(base + "/input/" + i);
    const { page, errors } = await open(browser, url);
    await page.waitForFunction(() => document.title !== "speedscope"
      || document.body.innerText.includes("Something went wrong"), null, { timeout: 20000 });
    const failed = await page.evaluate(() =>
      document.body.innerText.includes("Something went wrong"));
    const shown = await page.evaluate(() => document.body.innerText);
    const pages = /\(1\/(\d+)\)/.exec(shown);
    console.log(JSON.stringify({
      title: await page.title(), failed, errors, profiles: pages ? Number(pages[1]) : 1,
    }));
    await page.close();
  }
  await browser.close();
  server.close();
}

main(process.argv.slice(2)).catch((error) => {
  console.error(error);
  process.exit(1);
});
