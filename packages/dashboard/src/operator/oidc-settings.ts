/** What the configuration says of the login by a provider. */
import type { SystemSetting } from '@postrider/client'

export interface OidcSettings {
  readonly isOn: boolean
  readonly issuer: string | null
  readonly clientId: string | null
  readonly hasSecret: boolean
  readonly roleClaim: string | null
  readonly isOnly: boolean
  readonly redirectUri: string
}

/** `origin`: where this page is, if no public URL is told. */
export function readOidcSettings(
  settings: readonly Pick<SystemSetting, 'name' | 'value' | 'is_set'>[],
  origin: string,
): OidcSettings {
  const of = (name: string) => settings.find((one) => one.name === `POSTRIDER_${name}`)
  return {
    isOn: of('OIDC_ISSUER')?.is_set ?? false,
    issuer: of('OIDC_ISSUER')?.value ?? null,
    clientId: of('OIDC_CLIENT_ID')?.value ?? null,
    hasSecret: of('OIDC_CLIENT_SECRET')?.is_set ?? false,
    roleClaim: of('OIDC_ROLE_CLAIM')?.value ?? null,
    isOnly: of('OIDC_ONLY')?.value === 'true',
    redirectUri: `${of('PUBLIC_URL')?.value ?? origin}/ui/oidc/callback`,
  }
}
