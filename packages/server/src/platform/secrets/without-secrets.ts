/** What a peer said, without what we sent it to be kept: some quote the request. Fit to be stored. */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  return secrets
    .flatMap(spellingsOf)
    .reduce((rest, spelling) => rest.replaceAll(spelling, '[redacted]'), text)
    .toWellFormed()
    .replaceAll('\u0000', '\ufffd')
}

/** As it is, as in a URL, as in our form, and as JSON has it, where some escape every slash. */
function spellingsOf(secret: string): string[] {
  const inForm = new URLSearchParams({ s: secret }).toString().slice('s='.length)
  const inJson = JSON.stringify(secret).slice(1, -1)
  return [secret, encodeURIComponent(secret), inForm, inJson, inJson.replaceAll('/', '\\/')]
}
