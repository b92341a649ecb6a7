/**
 * Records commands that change the database by themselves, as calls of the API are recorded: before they begin, and
 * how they ended (docs/reference/operator.md#audit-log).
 */
import { hostname } from 'node:os'
import type { AuditedChange } from '@postrider/contract'
import type { Db } from '../platform/db/index.ts'
import { ApiError } from '../platform/errors.ts'
import { newUlid } from '../platform/ids.ts'
import { createLogger } from '../platform/log.ts'
import { createOperatorAccess } from '../tenants/index.ts'

interface Command<T> {
  /** The operation of the API that does the same, else the command. */
  readonly operation: string
  /** Whose data it changes; left out for what the operator has under /admin/v1. */
  readonly tenantId?: string
  readonly target?: string
  /** `note` takes what it has changed, where the entry is to tell it. */
  readonly work: (note: (changes: readonly AuditedChange[]) => void) => Promise<T>
  /** The id of what the command made. */
  readonly madeOf?: (result: T) => string
}

export async function audited<T>(db: Db, { madeOf, work, ...call }: Command<T>): Promise<T> {
  const access = createOperatorAccess({ db, log: createLogger({ level: 'silent' }) })
  const end = await access.begin({
    ...{ tenantId: call.tenantId, actor: 'cli', from: hostname(), requestId: newUlid() },
    ...{ operation: call.operation, target: call.target },
  })
  let changes: readonly AuditedChange[] | undefined
  try {
    const result = await work((noted) => {
      changes = noted
    })
    const ended = madeOf === undefined ? { status: 200 } : { status: 201, target: madeOf(result) }
    await end({ ...ended, changes })
    return result
  } catch (error) {
    await end({ status: error instanceof ApiError ? error.status : 500, changes })
    throw error
  }
}
