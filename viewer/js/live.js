// SPDX-License-Identifier: MIT
// live.js - a page that is served asks once a second for newer data.

const EVERY_MS = 1000;

/* Only a page that came from `gputrack html --serve` may ask at all. */
function isServed() {
  return document.querySelector("meta[http-equiv]").content.includes("connect-src 'self'");
}

/* Calls `fresh` with new data; false when the page is a file. */
export function follow(fresh) {
  if (!isServed())
    return false;
  let tag = "";
  const ask = async () => {
    try {
      const answer = await fetch(`data.json${location.search}`,
        { headers: tag ? { "If-None-Match": tag } : {}, cache: "no-store" });
      if (answer.status === 200) {
        tag = answer.headers.get("ETag") || "";
        fresh(await answer.json());
      }
      document.getElementById("live")?.classList.remove("gone");
    } catch {
      document.getElementById("live")?.classList.add("gone");
    }
    setTimeout(ask, EVERY_MS);
  };
  setTimeout(ask, EVERY_MS);
  return true;
}
