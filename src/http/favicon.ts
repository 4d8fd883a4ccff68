/**
 * The icon that every browser asks for, without a key: a paw.
 */

import { fixedPage, type PublicPage } from "./public-page.ts";

export const favicon: PublicPage = fixedPage({
  path: "/favicon.ico",
  contentType: "image/svg+xml",
  content:
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32" fill="#b5651d">' +
    '<ellipse cx="5" cy="14" rx="3.5" ry="4.5"/><ellipse cx="12" cy="7" rx="3.5" ry="5"/>' +
    '<ellipse cx="20" cy="7" rx="3.5" ry="5"/><ellipse cx="27" cy="14" rx="3.5" ry="4.5"/>' +
    '<path d="M16 14c5 0 10 6 10 11 0 4-4 5-10 4-6 1-10 0-10-4 0-5 5-11 10-11z"/></svg>',
});
