/** What a person sees when the service has started; on the first start, what to type next. */
export interface WelcomeFacts {
  readonly url: string
  /** Of the SMTP listener, where there is one. */
  readonly inboundPort: number | undefined
  /** Those that do something. */
  readonly roles: readonly string[]
  /** Where its role is `api`. */
  readonly hasDashboard: boolean
  /** Named in the configuration, without anything behind them in this version. */
  readonly dataDir: string | undefined
  /** Only on the first start: it cannot be shown again. */
  readonly apiKey: string | undefined
  readonly hasTenant: boolean
  /** While there is no user. */
  readonly setupUrl: string | undefined
}

export function welcome(o: WelcomeFacts): string {
  const isApi = o.roles.includes('api')
  const lines = [
    '',
    'Postrider is running.',
    ...(isApi && o.hasDashboard ? [`  Dashboard  ${o.url}/app/`] : []),
    ...(isApi
      ? [`  API        ${o.url}`, `  Reference  ${o.url}/docs   (OpenAPI: ${o.url}/openapi.json)`]
      : []),
    `  Health     ${o.url}/readyz   Metrics: ${o.url}/metrics`,
    ...(o.inboundPort === undefined
      ? []
      : [`  Inbound    SMTP on port ${o.inboundPort}: inbound domains need it as port 25`]),
    `  Roles      ${o.roles.join(', ') || 'none'}`,
    ...(o.dataDir === undefined ? [] : [`  Data       ${o.dataDir} (embedded PostgreSQL)`]),
    '',
  ]
  if (o.apiKey === undefined && !o.hasTenant)
    lines.push(
      'There is no tenant yet. Create one, with its first API key:',
      '',
      '  npx postrider tenant create NAME',
      '',
    )
  if (isApi && o.apiKey === undefined && o.hasTenant)
    lines.push('API keys are shown once; another: npx postrider key create TENANT_ID', '')
  if (o.setupUrl !== undefined)
    lines.push(
      'There is no user of the dashboard yet. This link makes the first one, within an hour:',
      '',
      `  ${o.setupUrl}`,
      '',
      'Another link: npx postrider user invite',
      '',
    )
  if (o.apiKey !== undefined)
    lines.push(
      'The tenant "default" was made. Its API key, shown only now:',
      '',
      `  ${o.apiKey}`,
      '',
      'Register a webhook, configure your SMTP server, and send a first email:',
      '',
      ...firstSteps(o.url, o.apiKey),
      '',
    )
  return `${lines.join('\n')}\n`
}

function firstSteps(url: string, apiKey: string): string[] {
  const curl = (path: string, body: object) =>
    [
      `curl ${url}${path} \\`,
      `  -H 'Authorization: Bearer ${apiKey}' -H 'Content-Type: application/json' \\`,
      `  -d '${JSON.stringify(body)}'`,
    ].join('\n')
  return [
    curl('/v1/webhook/register', {
      webhook_url: 'https://example.com/postrider',
      event: 'EMAIL_EVENT',
      method: 'POST',
      webhook_options: { events: { delivery: true, smtp_error: true, bounce: true } },
    }),
    '',
    curl('/v1/smtp', {
      name: 'My mail server',
      email: 'me@example.com',
      config_type: 'smtp',
      connection_type: 'basic',
      config: {
        host: 'smtp.example.com',
        port: 587,
        username: 'me@example.com',
        password: 'secret',
        secure: 'Tls',
      },
    }),
    '',
    curl('/v1/email/send', {
      from: { email: 'me@example.com' },
      to: [{ email: 'you@example.com' }],
      subject: 'Hello',
      content: [{ type: 'text/plain', value: 'It works.' }],
    }),
  ]
}
