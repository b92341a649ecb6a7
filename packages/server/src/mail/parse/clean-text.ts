/** Text of others, made fit for a PostgreSQL text column and for JSON: no NUL, no half of a character. */
export function cleanText(text: string): string {
  return text.toWellFormed().replaceAll('\u0000', '\ufffd')
}
