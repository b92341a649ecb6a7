/** What addDomain was given, checked beyond its shape. */
import type { AddDomainBody, FieldError, JsonObject } from '@postrider/contract'
import { validationError } from '../../platform/errors.ts'
import { problemOfCustomArgs } from '../../platform/values/custom-args.ts'
import type { NewDomain } from '../domain.ts'
import { checkName, isAddress, isReservedName, problemOfSelector } from './check-name.ts'

export interface CheckedDomain {
  /** In wire form. */
  readonly domain: string
  readonly customArgs: JsonObject | null
  readonly options: NewDomain['options']
}

export function checkBody(body: AddDomainBody): CheckedDomain {
  const errors: FieldError[] = []
  const refuse = (path: string, message: string | undefined) => {
    if (message !== undefined) errors.push({ path, message })
  }
  const name = checkName(body.domain)
  if (!name.ok) refuse('/domain', name.problem)
  if (body.custom_args != null) refuse('/custom_args', problemOfCustomArgs(body.custom_args))
  if (body.selector !== undefined) refuse('/selector', problemOfSelector(body.selector))
  for (const [i, ip] of (body.ips ?? []).entries())
    if (!isAddress(ip)) refuse(`/ips/${i}`, 'must be an IP address')
  if (errors.length > 0 || !name.ok) throw validationError(...errors)
  return { domain: name.domain, customArgs: body.custom_args ?? null, options: optionsOf(body) }
}

/** A simulator sends for names that nobody has. */
export function checkSimulated({ domain }: Pick<CheckedDomain, 'domain'>): void {
  if (isReservedName(domain)) return
  throw validationError({
    path: '/domain',
    message:
      'must be example.com, example.net, example.org, a name below them, or one that ends in .test, .example, .invalid or .localhost: the simulator takes no others',
  })
}

function optionsOf(body: AddDomainBody): NewDomain['options'] {
  return {
    ...(body.is_tenant_domain === undefined ? {} : { isTenantDomain: body.is_tenant_domain }),
    ...(body.is_tenant_subdomain === undefined
      ? {}
      : { isTenantSubdomain: body.is_tenant_subdomain }),
    ...(body.shared_with_subaccounts === undefined
      ? {}
      : { sharedWithSubaccounts: body.shared_with_subaccounts }),
    ...(body.ips === undefined ? {} : { ips: body.ips }),
    ...(body.selector === undefined ? {} : { selector: body.selector.toLowerCase() }),
  }
}
