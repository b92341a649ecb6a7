/**
 * Creates a stored domain at its provider. Repeating it is safe: a domain that the account has already,
 * from a call whose answer was lost or from its owner, is taken as it is, with the key that it has,
 * for mail may be signed with it this moment.
 *
 * What surely is not there leaves nothing behind here either. What may be there stays, and is gone on
 * with until the provider has said something definite, for a day at most.
 */
import { deleteDomainMailer } from '../../mailers/index.ts'
import type { Db } from '../../platform/db/index.ts'
import type { RelayRecord } from '../../relays/index.ts'
import { callProvider, type ProviderDeps, type Refusal, type Said } from '../call-provider.ts'
import type { DkimKey, SendingDomain } from '../domain.ts'
import { endDomain, FIRST_FENCE, finishCreating, putOff, type Turn } from '../stage-store.ts'

export interface CreateDeps extends ProviderDeps {
  readonly db: Db
}

export type Created =
  | { readonly kind: 'created' }
  | Refusal
  | { readonly kind: 'unsettled'; readonly message: string }

/** For how long nobody else goes on with it. */
export const STAGE_LEASE_MS = 60_000
const FIRST_CHECK_MS = 60_000
/** Each is looked up; no provider asks for as many. */
export const RECORDS_MAX = 20
const RETRY_MS = [60_000, 5 * 60_000, 15 * 60_000, 3_600_000] as const
/** With the waits above about a day. */
const TRIES_MAX = 26

export async function createAtProvider(deps: CreateDeps, turn: Turn): Promise<Created> {
  const { domain } = turn
  const said = await callProvider(deps, domain, 'create')
  if (said.kind === 'done') {
    const { providerId, records, wasThere = false } = said
    return finish(deps, turn, { providerId, records, keys: domain.keys, wasThere })
  }
  const key = said.kind === 'taken' && said.isOwn ? keyIn(domain, said.records) : undefined
  if (key !== undefined) {
    // Ours is the one that we made; else nobody but the provider has its private half.
    const own = domain.keys.find((one) => isSameKey(one, key))
    const keys = [own ?? key]
    return finish(deps, turn, {
      providerId: undefined,
      records: [],
      keys,
      wasThere: own === undefined,
    })
  }
  const result = problemOf(said)
  if (isDefinite(result, turn) || domain.tries >= TRIES_MAX) await forget(deps, turn)
  else await putOff(deps.db, turn, result.message, waitAfter(domain.tries))
  return result
}

/** When the provider cannot be asked now, the outcome of an earlier call stays unknown. */
function isDefinite(result: Exclude<Created, { kind: 'created' }>, { fence }: Turn): boolean {
  if (result.kind === 'unsettled') return false
  return fence === FIRST_FENCE || !CANNOT_ASK.has(result.code)
}

const CANNOT_ASK: ReadonlySet<Refusal['code']> = new Set(['relay_unreachable', 'relay_auth_failed'])

function problemOf(said: Exclude<Said, { kind: 'done' }>): Exclude<Created, { kind: 'created' }> {
  switch (said.kind) {
    case 'taken':
      return said.isOwn
        ? refuse('relay_refused', `The relay provider has the domain already: ${said.detail}`)
        : refuse('domain_taken', `Another account of the relay provider has it: ${said.detail}`)
    case 'absent':
      return refuse('relay_refused', 'The relay provider does not know what it was asked for')
    default:
      return said
  }
}

function refuse(code: Refusal['code'], message: string): Refusal {
  return { kind: 'refused', code, message }
}

async function finish(
  { db }: CreateDeps,
  turn: Turn,
  found: Omit<Parameters<typeof finishCreating>[2], 'provider' | 'nextMs'>,
): Promise<Created> {
  await finishCreating(db, turn, {
    ...found,
    records: found.records.slice(0, RECORDS_MAX),
    // Only a check makes it verified.
    provider: { agrees: false },
    nextMs: FIRST_CHECK_MS,
  })
  return { kind: 'created' }
}

function keyIn(
  { domain }: SendingDomain,
  records: readonly RelayRecord[] = [],
): DkimKey | undefined {
  const record = records.find(({ purpose, type }) => purpose === 'dkim' && type === 'TXT')
  const suffix = `._domainkey.${domain}`
  const publicKey = /\bp=([^;\s]+)/.exec(record?.value ?? '')?.[1]
  if (record === undefined || publicKey === undefined || !record.name.endsWith(suffix))
    return undefined
  return { selector: record.name.slice(0, -suffix.length), publicKey, turn: 'current' }
}

function isSameKey(one: DkimKey, other: DkimKey): boolean {
  return one.selector === other.selector && one.publicKey === other.publicKey
}

/** The domain and its mailer, unless somebody else has gone on with them. */
async function forget({ db }: CreateDeps, turn: Turn): Promise<void> {
  await db.transaction(async (tx) => {
    if (await endDomain(tx, turn)) await deleteDomainMailer(tx, turn.domain)
  })
}

export function waitAfter(tries: number): number {
  return RETRY_MS[Math.min(tries, RETRY_MS.length - 1)] ?? 0
}
