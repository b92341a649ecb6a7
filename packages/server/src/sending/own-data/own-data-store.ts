/**
 * SQL of what recipients have of their own. An email says whether there is any, so that all other mail costs no
 * statement. Every statement names the tenant.
 */
import {
  type InsertRowsInput,
  insertRows,
  type Queryable,
  statement,
} from '../../platform/db/index.ts'
import { dayOfUlid } from '../../platform/ids.ts'
import { decompress } from '../../platform/values/zstd.ts'
import type { OwnData, OwnRecipient } from '../record/email.ts'
import type { Rendering } from './own-data.ts'

interface EmailKey {
  readonly tenantId: string
  readonly refId: string
}

/** What is handed to the database at once delays the event loop, JSON more than bytes. */
const SLICE_BYTES = 4 * 1024 * 1024
const SLICE_JSON_CHARS = 512 * 1024

export async function insertOwnData(
  tx: Queryable,
  emails: readonly (EmailKey & { readonly own: OwnData })[],
): Promise<void> {
  if (emails.length === 0) return
  const recipients = createSlices(tx, SLICE_JSON_CHARS, {
    name: 'sending.insert_own',
    into: 'sending_own',
    columns: ['tenant_id', 'ref_id', 'n', 'day', 'custom_args', 'rendering'],
  })
  const renderings = createSlices(tx, SLICE_BYTES, {
    name: 'sending.insert_rendering',
    into: 'sending_rendering',
    columns: ['tenant_id', 'ref_id', 'rendering', 'day', 'subject'],
  })
  const contents = createSlices(tx, SLICE_BYTES, {
    name: 'sending.insert_rendering_content',
    into: 'sending_content',
    columns: ['tenant_id', 'ref_id', 'rendering', 'day', 'content'],
  })
  for (const { tenantId, refId, own } of emails) {
    const day = dayOfUlid(refId)
    for (const { n, customArgs, rendering } of own.recipients) {
      const args = customArgs === null ? null : JSON.stringify(customArgs)
      await recipients.add([tenantId, refId, n, day, args, rendering], args?.length ?? 0)
    }
    for (const [i, { subject, content }] of own.renderings.entries()) {
      await renderings.add([tenantId, refId, i + 1, day, subject], subject.length)
      await contents.add([tenantId, refId, i + 1, day, content], content.length)
    }
  }
  await recipients.end()
  await renderings.end()
  await contents.end()
}

/** Rows, inserted whenever they have become so long. */
function createSlices(tx: Queryable, lengthMax: number, input: Omit<InsertRowsInput, 'rows'>) {
  let rows: unknown[][] = []
  let length = 0
  const insert = async () => {
    await insertRows(tx, { ...input, rows })
    ;[rows, length] = [[], 0]
  }
  return {
    async add(row: unknown[], rowLength: number): Promise<void> {
      rows.push(row)
      length += rowLength
      if (length >= lengthMax) await insert()
    },
    end: insert,
  }
}

export interface OwnKey extends EmailKey {
  readonly n: number
}

const READ = statement(
  'sending.read_own',
  `select (k.i - 1)::int as i, o.n, o.custom_args as "customArgs", o.rendering
     from unnest($1::text[], $2::text[], $3::smallint[], $4::date[]) with ordinality
       as k (tenant_id, ref_id, n, day, i)
    cross join lateral (
      select n, custom_args, rendering from sending_own
       where tenant_id = k.tenant_id and ref_id = k.ref_id and n = k.n and day = k.day
         -- Says before the join begins which partitions there are to open.
         and day = any($5::date[]) limit 1) o`,
)

/** In the order of the given; undefined: nothing of its own. Ask for recipients of emails that have some. */
export async function readOwn(
  q: Queryable,
  keys: readonly OwnKey[],
): Promise<readonly (OwnRecipient | undefined)[]> {
  if (keys.length === 0) return []
  const days = keys.map(({ refId }) => dayOfUlid(refId))
  const { rows } = await q.query<OwnRecipient & { readonly i: number }>(READ, [
    keys.map(({ tenantId }) => tenantId),
    keys.map(({ refId }) => refId),
    keys.map(({ n }) => n),
    days,
    [...new Set(days)],
  ])
  const found = new Map(rows.map(({ i, ...own }) => [i, own]))
  return keys.map((_, i) => found.get(i))
}

const LOAD = statement(
  'sending.load_rendering',
  `select content from sending_content
    where tenant_id = $1 and ref_id = $2 and rendering = $3 and day = $4`,
)

/** Throws where there is none: the content of the email was there, and both leave together. */
export async function loadRendering(
  q: Queryable,
  key: EmailKey,
  rendering: number,
): Promise<Rendering> {
  const found = await readRendering(q, key, rendering)
  if (found === undefined) throw new Error(`rendering ${rendering} of ${key.refId} is gone`)
  return found
}

async function readRendering(
  q: Queryable,
  { tenantId, refId }: EmailKey,
  rendering: number,
): Promise<Rendering | undefined> {
  const values = [tenantId, refId, rendering, dayOfUlid(refId)]
  const { rows } = await q.query<{ content: Buffer }>(LOAD, values)
  if (rows[0] === undefined) return undefined
  return JSON.parse((await decompress(rows[0].content)).toString()) as Rendering
}

/** What one recipient gets; undefined: the content of the email. Its day may leave while a reader is at work. */
export async function findRendering(
  q: Queryable,
  key: OwnKey,
): Promise<Rendering | 'content removed' | undefined> {
  const [own] = await readOwn(q, [key])
  if (own?.rendering == null) return undefined
  return (await readRendering(q, key, own.rendering)) ?? 'content removed'
}

const SUBJECTS = statement(
  'sending.own_subjects',
  `select k.ref_id as "refId", k.rendering, r.subject
     from unnest($2::text[], $3::smallint[], $4::date[]) as k (ref_id, rendering, day)
    cross join lateral (
      select subject from sending_rendering
       where tenant_id = $1 and ref_id = k.ref_id and rendering = k.rendering and day = k.day
         and day = any($5::date[]) limit 1) r`,
)

/** What the record shows of recipients in place of what their emails have. */
export interface ShownOwn {
  readonly customArgs: OwnRecipient['customArgs']
  /** Undefined: that of the email. */
  readonly subject: string | undefined
}

/** Of one tenant, by `refId.n`. */
export async function readShownOwn(
  q: Queryable,
  tenantId: string,
  keys: readonly Pick<OwnKey, 'refId' | 'n'>[],
): Promise<ReadonlyMap<string, ShownOwn>> {
  const asked = keys.map(({ refId, n }) => ({ tenantId, refId, n }))
  const found = await readOwn(q, asked)
  const own = asked.flatMap(({ refId, n }, i) => {
    const one = found[i]
    return one === undefined ? [] : [{ ...one, refId, n }]
  })
  const rendered = own.filter(({ rendering }) => rendering !== null)
  const subjects = new Map<string, string>()
  if (rendered.length > 0) {
    const days = rendered.map(({ refId }) => dayOfUlid(refId))
    const { rows } = await q.query<{ refId: string; rendering: number; subject: string }>(
      SUBJECTS,
      [
        tenantId,
        rendered.map(({ refId }) => refId),
        rendered.map(({ rendering }) => rendering),
        days,
        [...new Set(days)],
      ],
    )
    for (const row of rows) subjects.set(`${row.refId}.${row.rendering}`, row.subject)
  }
  return new Map(
    own.map(({ refId, n, customArgs, rendering }) => [
      `${refId}.${n}`,
      { customArgs, subject: subjects.get(`${refId}.${rendering}`) },
    ]),
  )
}
