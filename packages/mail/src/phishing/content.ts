/**
 * What phishing protection looks at, and what it finds (docs/reference/sending.md#phishing): the shapes that
 * pass between the scan, the thread that runs it and those who decide. All of it can be cloned.
 */
import type { Sign } from './signs.ts'

export interface ScannedContent {
  readonly from: { readonly address: string; readonly name?: string }
  readonly subject: string
  readonly text?: string
  /** The HTML body, and attachments that open as HTML. */
  readonly html: readonly string[]
}

export interface Scan {
  /** The heaviest of each kind, heaviest first. */
  readonly signs: readonly Sign[]
  /** Each host that the content names once, in A-labels, for block lists. */
  readonly hosts: readonly string[]
}

/** `too-much`: more links or hosts, or longer ones, than are looked at. Not a defect: a verdict. */
export type ScanResult =
  | { readonly kind: 'scanned'; readonly scan: Scan }
  | { readonly kind: 'too-much' }
