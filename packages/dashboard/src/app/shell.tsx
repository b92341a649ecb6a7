/** The frame around the pages: navigation, tenant, search, the reader's menu. */
import { Drawer } from '@mantine/core'
import { Link, Outlet, useParams, useRouterState } from '@tanstack/react-router'
import { Menu as MenuIcon } from 'lucide-react'
import { Suspense, useEffect, useState } from 'react'
import { Waiting } from '../ui/answers.tsx'
import { rememberFirstKeys } from '../ui/keys.ts'
import { useWords } from '../words/define-words.ts'
import { ActingBar } from './acting-bar.tsx'
import { CommandButton } from './command.tsx'
import { Logo } from './logo.tsx'
import type { NavGroup } from './nav.ts'
import classes from './shell.module.css'
import { TenantSwitch } from './tenant-switch.tsx'
import { useNavGroups } from './use-nav-groups.ts'
import { UserMenu } from './user-menu.tsx'
import { words } from './words.ts'

export function Shell() {
  const text = useWords(words)
  const { tenantId } = useParams({ strict: false })
  const groups = useNavGroups()
  const path = useRouterState({ select: ({ location }) => location.pathname })
  /** The page at which the navigation was opened: another page closes it. */
  const [openAt, setOpenAt] = useState<string>()
  useEffect(rememberFirstKeys, [])
  const navigation = (
    <>
      <TenantSwitch />
      <Navigation groups={groups} tenantId={tenantId} />
    </>
  )
  return (
    <div className={classes.shell}>
      <a className={classes.skip} href="#content">
        {text.skipToContent}
      </a>
      <header className={classes.top}>
        <button
          type="button"
          className={classes.burger}
          aria-label={text.openNavigation}
          onClick={() => setOpenAt(path)}
        >
          <MenuIcon size={18} aria-hidden />
        </button>
        <Link to="/" className={classes.logo} aria-label="Postrider">
          <Logo />
        </Link>
        <CommandButton />
        <UserMenu />
      </header>
      <div className={classes.side}>{navigation}</div>
      <Drawer
        opened={openAt === path}
        onClose={() => setOpenAt(undefined)}
        size={280}
        title={<Logo />}
        classNames={{ content: classes.drawer ?? '', header: classes.drawerHeader ?? '' }}
      >
        {navigation}
      </Drawer>
      <main id="content" className={classes.main} tabIndex={-1}>
        <ActingBar />
        <Suspense fallback={<Waiting />}>
          <Outlet />
        </Suspense>
      </main>
    </div>
  )
}

function Navigation({
  groups,
  tenantId,
}: {
  readonly groups: readonly NavGroup[]
  readonly tenantId: string | undefined
}) {
  const text = useWords(words)
  return (
    <nav className={classes.nav} aria-label={text.mainNavigation}>
      {groups.map(({ title, entries }) => (
        <div key={title ?? 'first'}>
          {title !== undefined && <h2 className={classes.group}>{text.nav[title]}</h2>}
          <ul>
            {entries.map(({ name, icon: Icon, to }) => (
              <li key={name}>
                <Link
                  to={to}
                  {...(tenantId !== undefined && { params: { tenantId } })}
                  activeOptions={{ exact: name === 'overview', includeSearch: false }}
                  className={classes.entry}
                >
                  <Icon size={16} strokeWidth={1.9} aria-hidden />
                  <span>{text.nav[name]}</span>
                </Link>
              </li>
            ))}
          </ul>
        </div>
      ))}
    </nav>
  )
}
