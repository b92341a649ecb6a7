/** Scans a mail for phishing: pure, never throws, and linear in its size. */
import type { ScannedContent, ScanResult } from './content.ts'
import { createSignFinder } from './find-signs.ts'
import type { KnownHosts } from './known-hosts.ts'
import { readHtml } from './read-html.ts'
import { heaviest } from './signs.ts'

export function scanContent(
  knownHosts: KnownHosts,
  { from, subject, text, html }: ScannedContent,
): ScanResult {
  const finder = createSignFinder(knownHosts, from)
  finder.addSender(from)
  finder.addText(subject)
  if (text !== undefined) finder.addText(text)
  for (const one of html) finder.addHtml(readHtml(one))
  if (finder.isCut) return { kind: 'too-much' }
  return { kind: 'scanned', scan: { signs: heaviest(finder.signs), hosts: finder.hosts } }
}
