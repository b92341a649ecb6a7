/** Single sign-on: what is configured, what to register at the provider, and what its claims mean here. */
import { Answer } from '../ui/answers.tsx'
import { CodeBlock, Copyable } from '../ui/copy.tsx'
import { DataTable } from '../ui/data-table.tsx'
import { Card, Fields, Page, Row, Stack } from '../ui/page.tsx'
import { StateMark } from '../ui/state-mark.tsx'
import { useWords } from '../words/define-words.ts'
import { type OidcSettings, readOidcSettings } from './oidc-settings.ts'
import { useSystem } from './use-system.ts'
import { words } from './words.ts'

export function OidcPage() {
  const text = useWords(words)
  const query = useSystem()
  return (
    <Page title={text.oidc} lead={text.oidcLead}>
      <Answer query={query}>
        {({ system }) => {
          const settings = readOidcSettings(system.configuration, location.origin)
          return (
            <>
              {settings.isOn ? <Provider settings={settings} /> : <Off settings={settings} />}
              <ClaimTable />
            </>
          )
        }}
      </Answer>
    </Page>
  )
}

function Provider({ settings }: { readonly settings: OidcSettings }) {
  const text = useWords(words)
  return (
    <Card
      title={
        <Row>
          <span>{text.oidcOnTitle}</span>
          <StateMark tone="good">{text.oidcOn}</StateMark>
        </Row>
      }
    >
      <Fields
        entries={[
          [text.issuer, <Copyable key="i" value={settings.issuer ?? ''} />],
          [text.clientId, <Copyable key="c" value={settings.clientId ?? ''} />],
          [text.clientSecret, settings.hasSecret ? text.secretSet : text.publicClient],
          [text.roleClaim, <code key="r">{settings.roleClaim}</code>],
          [text.oidcOnly, settings.isOnly ? text.oidcOnlyYes : text.oidcOnlyNo],
          [text.redirectUri, <Redirect key="u" uri={settings.redirectUri} />],
        ]}
      />
    </Card>
  )
}

function Off({ settings }: { readonly settings: OidcSettings }) {
  const text = useWords(words)
  return (
    <Card
      title={
        <Row>
          <span>{text.oidcOffTitle}</span>
          <StateMark tone="muted">{text.oidcOff}</StateMark>
        </Row>
      }
    >
      <Stack>
        <p>{text.oidcOffHelp}</p>
        <CodeBlock code={variables} label={text.configuration} />
        <Fields entries={[[text.redirectUri, <Redirect key="u" uri={settings.redirectUri} />]]} />
      </Stack>
    </Card>
  )
}

function Redirect({ uri }: { readonly uri: string }) {
  const text = useWords(words)
  return (
    <>
      <Copyable value={uri} />
      <p>{text.redirectHelp}</p>
    </>
  )
}

function ClaimTable() {
  const text = useWords(words)
  const rows = [
    { says: 'operator', means: text.claimOperator },
    { says: 'owner:tn_…', means: text.claimOwner },
    { says: 'viewer', means: text.claimPlain },
    { says: '["operator", "owner:tn_…"]', means: text.claimList },
  ]
  return (
    <Card title={text.rolesTitle} note={text.rolesNote} isFlush>
      <DataTable
        label={text.rolesTitle}
        rows={rows}
        rowKey={({ says }) => says}
        columns={[
          {
            key: 'says',
            head: text.claimValue,
            isTitle: true,
            cell: ({ says }) => <code>{says}</code>,
          },
          {
            key: 'means',
            head: text.claimMeans,
            width: 'minmax(0, 2fr)',
            cell: ({ means }) => means,
          },
        ]}
      />
    </Card>
  )
}

const variables = `POSTRIDER_OIDC_ISSUER=https://login.example.com
POSTRIDER_OIDC_CLIENT_ID=postrider
POSTRIDER_OIDC_CLIENT_SECRET=…
POSTRIDER_OIDC_ROLE_CLAIM=roles`
