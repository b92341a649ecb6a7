/** getSystem: processes, versions, storage, and the configuration without secrets. */
import type { GetSystemAnswer, SystemSetting } from '@postrider/contract'
import { type Db, listLargestTables, readDatabase, readInOrder } from '../platform/db/index.ts'
import { processGoneAfterMs } from '../platform/process/process-registry.ts'
import { listProcesses } from '../platform/process/process-store.ts'

const PROCESSES_MAX = 500
const TABLES_MAX = 30
const STATEMENT_TIMEOUT_MS = 5_000

export async function getSystem(o: {
  readonly db: Db
  readonly isEmbedded: boolean
  readonly settings: () => SystemSetting[]
}): Promise<GetSystemAnswer['system']> {
  return await readInOrder(o.db, async (tx) => {
    await tx.query(`set local statement_timeout = ${STATEMENT_TIMEOUT_MS}`)
    const [processes, database, tables] = await Promise.all([
      listProcesses(tx, { goneAfterMs: processGoneAfterMs, limit: PROCESSES_MAX }),
      readDatabase(tx),
      listLargestTables(tx, TABLES_MAX),
    ])
    return {
      processes: processes.map(({ processId, startedAt, seenAt, roles, ...facts }) => ({
        process_id: processId,
        roles: [...roles],
        ...facts,
        started_at: startedAt.toISOString(),
        seen_at: seenAt.toISOString(),
      })),
      database: { ...database, is_embedded: o.isEmbedded },
      tables,
      configuration: o.settings(),
    }
  })
}
