/**
 * Records commands that change the database by themselves, as calls of the API are recorded: before they begin, and
 * how they ended (docs/reference/operator.md#audit-log).
 */
import { hostname } from 'node:os'
import type { Db } from '../platform/db/index.ts'
import { ApiError } from '../platform/errors.ts'
import { newUlid } from '../platform/ids.ts'
import { createLogger } from '../platform/log.ts'
import { createOperatorAccess } from '../tenants/index.ts'

interface Command<T> {
  /** The operation of the API that does the same, else the command. */
  readonly operation: string
  readonly target?: string
  readonly work: () => Promise<T>
  /** The id of what the command made. */
  readonly madeOf?: (result: T) => string
}

export async function audited<T>(db: Db, { madeOf, work, ...call }: Command<T>): Promise<T> {
  const access = createOperatorAccess({ db, log: createLogger({ level: 'silent' }) })
  const end = await access.begin({
    ...{ tenantId: undefined, actor: 'cli', from: hostname(), requestId: newUlid() },
    ...{ operation: call.operation, target: call.target },
  })
  try {
    const result = await work()
    await end(madeOf === undefined ? { status: 200 } : { status: 201, target: madeOf(result) })
    return result
  } catch (error) {
    await end({ status: error instanceof ApiError ? error.status : 500 })
    throw error
  }
}
