/**
 * importSuppressions (docs/reference/suppressions.md#importing): a file is read as it comes, and written in
 * batches, each a transaction of its own. So a file of a million lines takes little memory, and a send or a
 * bounce that writes the same address waits for one batch at most. Batches of tenants take turns.
 *
 * A file that breaks off leaves what was read before: the caller is told how much, and sends it again.
 */
import {
  type ImportSuppressionsAnswer,
  type RefusedLine,
  refusedLinesMax,
  type SuppressionFormat,
} from '@postrider/contract'
import type { ConcurrencyLimiter } from '@postrider/runtime/concurrency-limiter'
import type { Clock } from '../../platform/clock.ts'
import { type Db, isConflict } from '../../platform/db/index.ts'
import { ApiError, validationError } from '../../platform/errors.ts'
import { toApiError } from '../../platform/http/error-answer.ts'
import type { Logger } from '../../platform/log.ts'
import { sourceOfCaller } from '../source-of-caller.ts'
import { mergeRows, type NewRow, putSuppressions } from '../store.ts'
import { type CsvFlaw, type CsvRecord, createCsvReader } from './csv-reader.ts'
import { createLineReader, type LineReader } from './read-line.ts'

export interface ImportDeps {
  readonly db: Db
  readonly clock: Pick<Clock, 'now'>
  readonly log: Logger
  /** Of batches: a tenant writes one at a time. */
  readonly batches: ConcurrencyLimiter
}

export interface ImportOrder {
  readonly tenantId: string
  /** Who asks. */
  readonly callerId: string
  readonly format: SuppressionFormat
}

export type ImportResult = Pick<
  ImportSuppressionsAnswer,
  'added' | 'known' | 'refused' | 'refused_count'
>

/** What a batch holds lives for as long as it is written: with few lines it does not become old garbage. */
const BATCH = 500
const CONFLICTS_MAX = 5

export async function importSuppressions(
  deps: ImportDeps,
  order: ImportOrder,
  file: AsyncIterable<Buffer>,
): Promise<ImportResult> {
  const batch = createBatch(deps, order.tenantId)
  const refused: RefusedLine[] = []
  let refusedCount = 0
  let reader: LineReader | undefined

  function refuse(line: number, message: string): void {
    refusedCount += 1
    if (refused.length < refusedLinesMax) refused.push({ line, message })
  }

  async function take(record: CsvRecord | CsvFlaw): Promise<void> {
    if ('problem' in record) {
      if (reader === undefined) throw badHeader(record.problem)
      return refuse(record.line, record.problem)
    }
    const isFirst = reader === undefined
    if (isFirst) {
      const source = sourceOfCaller(order.callerId)
      const made = createLineReader(record.fields, { ...order, source, now: deps.clock.now() })
      if ('problem' in made) throw badHeader(made.problem)
      reader = made.read
      if (made.isHeader) return
    }
    const read = reader?.(record.fields)
    if (read === undefined) return
    if ('problem' in read) return refuse(record.line, read.problem)
    if (batch.add(read) >= BATCH) await batch.write()
  }

  try {
    for await (const records of recordsOf(file)) for (const record of records) await take(record)
    if (reader === undefined) throw badHeader('is not there: the file is empty')
    await batch.write()
  } catch (error) {
    if (reader === undefined) throw error
    throw await brokenOff(error)
  }
  return { ...batch.counts(), refused, refused_count: refusedCount }

  async function brokenOff(error: unknown): Promise<unknown> {
    if (!FAULTS.has(toApiError(error).code)) await batch.write()
    const counts = batch.counts()
    const { tenantId: tenant_id } = order
    deps.log.info({ tenant_id, err: error, ...counts }, 'suppressions_import.broken_off')
    const { code, message, errors, retryAfterS, headers, bound } = toApiError(error)
    const told = `${errors?.[0]?.message ?? message}. The import broke off: ${counts.added} addresses were added before, and ${counts.known} were known. Send the whole file again: what is there counts as known`
    return new ApiError(code, {
      message: told,
      ...(errors === undefined ? {} : { errors: [{ path: '', message: told }] }),
      cause: error,
      isOutcomeUnknown: code === 'unavailable',
      ...(retryAfterS === undefined ? {} : { retryAfterS }),
      ...(headers === undefined ? {} : { headers }),
      ...(bound === undefined ? {} : { bound }),
    })
  }
}

/** Of ours. All others are of the file: what was read of it is kept. */
const FAULTS: ReadonlySet<string> = new Set(['unavailable', 'internal_error'])

function badHeader(problem: string): ApiError {
  return validationError({ path: '', message: `the header, line 1 of the file, ${problem}` })
}

/** Without a piece: what is left. */
function decode(decoder: Pick<InstanceType<typeof TextDecoder>, 'decode'>, piece?: Buffer): string {
  try {
    return decoder.decode(piece, { stream: piece !== undefined })
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    throw validationError({ path: '', message: 'the file is not UTF-8: save it in UTF-8' })
  }
}

async function* recordsOf(
  file: AsyncIterable<Buffer>,
): AsyncGenerator<Iterable<CsvRecord | CsvFlaw>, void, undefined> {
  const reader = createCsvReader()
  // A mark at the beginning is left out.
  const decoder = new TextDecoder('utf-8', { fatal: true })
  for await (const piece of file) yield reader.push(decode(decoder, piece))
  yield reader.push(decode(decoder))
  yield reader.end()
}

/** Rows of different addresses. Of one address twice the second counts as known. */
function createBatch({ db, batches }: ImportDeps, tenantId: string) {
  let rows = new Map<string, NewRow>()
  let taken = 0
  let added = 0
  let known = 0

  async function write(): Promise<void> {
    if (taken === 0) return
    const [given, count] = [[...rows.values()], taken]
    const fresh = await batches.run(tenantId, () => put(given))
    rows = new Map()
    taken = 0
    added += fresh
    known += count - fresh
  }

  /** Others write several of these addresses in one transaction, in their order. */
  async function put(given: readonly NewRow[]): Promise<number> {
    for (let conflicts = 0; ; conflicts++) {
      try {
        return (await db.transaction((tx) => putSuppressions(tx, tenantId, given))).added.size
      } catch (error) {
        if (!isConflict(error) || conflicts >= CONFLICTS_MAX) throw error
      }
    }
  }

  return {
    /** Answers how many lines it holds. */
    add(row: NewRow): number {
      const before = rows.get(row.emailKey)
      rows.set(row.emailKey, before === undefined ? row : mergeRows(before, row))
      taken += 1
      return taken
    },
    write,
    counts: () => ({ added, known }),
  }
}
