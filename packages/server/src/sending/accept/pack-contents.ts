/**
 * Puts short contents of a tenant that are accepted together into one frame (docs/adr/0036). Mail of one campaign has
 * nearly all in common, and a frame, its row and its key cost the same for many as for one.
 */
import { dayOfUlid } from '../../platform/ids.ts'
import { compressShort } from '../../platform/values/zstd.ts'
import type { ReadyContent, StoredContent } from '../record/stored-content.ts'

export interface EmailToPack {
  readonly tenantId: string
  readonly refId: string
  readonly ready: ReadyContent
}

/** The row of a content, under the `ref_id` of its first email. */
export interface ContentRow extends StoredContent {
  readonly tenantId: string
  readonly refId: string
  readonly day: string
}

export interface PackedContents {
  readonly rows: readonly ContentRow[]
  /** Under which `ref_id` the content of each email stands. */
  readonly packOf: ReadonlyMap<string, string>
}

/** To read one of its emails is to decompress all of it. */
const PACK_CHARS = 32 * 1024

interface Pack {
  readonly tenantId: string
  readonly refId: string
  readonly day: string
  readonly lines: string[]
  chars: number
}

/** 2 MiB, the most that is inserted at once, take 4 to 7 ms of a quick processor. */
export function packContents(emails: readonly EmailToPack[]): PackedContents {
  const packOf = new Map<string, string>()
  const rows: ContentRow[] = []
  const packs: Pack[] = []
  /** Of each tenant and day, the pack that still has room. */
  const open = new Map<string, Pack>()
  for (const { tenantId, refId, ready } of emails) {
    const day = dayOfUlid(refId)
    if (!('line' in ready)) {
      packOf.set(refId, refId)
      rows.push({ ...ready, tenantId, refId, day })
      continue
    }
    const { line } = ready
    const key = `${tenantId} ${day}`
    let pack = open.get(key)
    if (pack === undefined || pack.chars + line.length > PACK_CHARS) {
      pack = { tenantId, refId, day, lines: [], chars: 0 }
      open.set(key, pack)
      packs.push(pack)
    }
    packOf.set(refId, pack.refId)
    pack.lines.push(line)
    pack.chars += line.length
  }
  for (const { tenantId, refId, day, lines } of packs) {
    const content = compressShort(Buffer.from(lines.join('')))
    rows.push({ tenantId, refId, day, content, attachments: null })
  }
  return { rows, packOf }
}
