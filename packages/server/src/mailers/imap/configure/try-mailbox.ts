/** Logs in at a mailbox that is about to be stored; where that is not asked for, its host alone is looked at. */
import { countedCheck } from '../../../platform/limits/counted-check.ts'
import type { MailerConfig } from '../../mailer.ts'
import { checkHost, type LoginCheckDeps } from '../../smtp/check-login.ts'
import { type Baselines, checkMailbox } from './check-mailbox.ts'

export type Credential = { readonly password: string } | { readonly accessToken: string }

export interface TriedMailbox<C extends Credential> {
  readonly baselines: Baselines
  readonly credential: C
}

/** With what `obtain` gives. Undefined: nothing was tried. */
export async function tryMailbox<C extends Credential>(
  deps: LoginCheckDeps,
  tenantId: string,
  o: {
    readonly server: MailerConfig
    readonly folders: readonly string[]
    readonly isVerified: boolean
  },
  obtain: () => Promise<C>,
): Promise<TriedMailbox<C> | undefined> {
  const { server, folders, isVerified } = o
  if (!isVerified) {
    await checkHost(deps, tenantId, server.host)
    return undefined
  }
  return countedCheck(deps, tenantId, async () => {
    const credential = await obtain()
    const login = { ...server, username: server.username ?? '', ...credential }
    return { credential, baselines: await checkMailbox(deps, login, folders) }
  })
}
