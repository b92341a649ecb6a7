/** updateDomain: how a sending domain sends; what is left out stays as it is, null is the default again. */
import type { UpdateDomainBody } from '@postrider/contract'
import {
  changeDomainSettings,
  type DomainSettings,
  defaultUncertain,
  type MailerKey,
} from '../../mailers/index.ts'
import type { Queryable } from '../../platform/db/index.ts'
import { ApiError } from '../../platform/errors.ts'
import { nullAs } from '../../platform/values/null-as.ts'
import type { SendingDomain } from '../domain.ts'
import { getDomain } from '../get-domain.ts'

export interface UpdateDomainDeps {
  readonly db: Queryable
  /** Its limits may let more through. */
  readonly wakeMail: (key: MailerKey) => void
}

/** @param name as given in a path */
export async function updateDomain(
  deps: UpdateDomainDeps,
  tenantId: string,
  name: string,
  body: UpdateDomainBody,
): Promise<{ readonly domain: SendingDomain; readonly settings: DomainSettings }> {
  const domain = await getDomain(deps, tenantId, name)
  const settings = await changeDomainSettings(deps.db, domain, {
    limits: nullAs(body.limits, {}),
    uncertain: nullAs(body.uncertain, defaultUncertain),
  })
  if (settings === undefined) throw new ApiError('not_found')
  deps.wakeMail(domain)
  return { domain, settings }
}
