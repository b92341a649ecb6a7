/** The reader's menu: account, look, language, log out. */
import { useMantineColorScheme } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { Check, CircleUser, LogOut } from 'lucide-react'
import { forgetStarted } from '../oauth/started-login.ts'
import { clientOf } from '../session/client.ts'
import { tellOtherTabs } from '../session/other-tabs.ts'
import { useSession } from '../session/session.ts'
import { Menu } from '../ui/controls.ts'
import { tellFailed } from '../ui/toast.ts'
import { useWords } from '../words/define-words.ts'
import { chooseLanguage, useLanguage } from '../words/language.ts'
import classes from './user-menu.module.css'
import { words } from './words.ts'

const themes = [
  ['light', 'light'],
  ['dark', 'dark'],
  ['auto', 'system'],
] as const
const languages = [
  ['en', 'english'],
  ['de', 'german'],
] as const

export function UserMenu() {
  const text = useWords(words)
  const { user, role } = useSession()
  const { colorScheme, setColorScheme } = useMantineColorScheme()
  const language = useLanguage()
  const mark = (isChosen: boolean) =>
    isChosen ? <Check size={14} aria-hidden /> : <span className={classes.gap} />
  async function logOut(): Promise<void> {
    try {
      await clientOf().deleteSession()
      forgetStarted()
      tellOtherTabs()
      // Another document: nothing of what this one knows is left.
      location.assign('/app/login')
    } catch (error) {
      tellFailed('logOut')(error)
    }
  }
  return (
    <Menu width={240} closeOnItemClick={false}>
      <Menu.Target>
        <button type="button" className={classes.button} aria-label={text.yourAccount}>
          <CircleUser size={20} strokeWidth={1.7} aria-hidden />
        </button>
      </Menu.Target>
      <Menu.Dropdown>
        <div className={classes.who}>
          <strong>{user.name}</strong>
          <span>{user.email}</span>
          {role !== null && <span>{text.roles[role]}</span>}
        </div>
        <Menu.Item component={Link} to="/account" closeMenuOnClick>
          {text.yourAccount}
        </Menu.Item>
        <Menu.Item component="a" href="/docs" target="_blank" rel="noreferrer" closeMenuOnClick>
          {text.reference}
        </Menu.Item>
        <Menu.Divider />
        <Menu.Label>{text.theme}</Menu.Label>
        {themes.map(([value, name]) => (
          <Menu.Item
            key={value}
            role="menuitemradio"
            aria-checked={colorScheme === value}
            leftSection={mark(colorScheme === value)}
            onClick={() => setColorScheme(value)}
          >
            {text[name]}
          </Menu.Item>
        ))}
        <Menu.Label>{text.language}</Menu.Label>
        {languages.map(([value, name]) => (
          <Menu.Item
            key={value}
            role="menuitemradio"
            aria-checked={language === value}
            leftSection={mark(language === value)}
            onClick={() => chooseLanguage(value)}
            lang={value}
          >
            {text[name]}
          </Menu.Item>
        ))}
        <Menu.Divider />
        <Menu.Item leftSection={<LogOut size={14} aria-hidden />} onClick={() => void logOut()}>
          {text.logOut}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  )
}
