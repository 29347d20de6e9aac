-- MySQL dump 10.19  Distrib 10.11.6-MariaDB, for Linux (x86_64)
/*!40101 SET NAMES utf8mb4 */;

DROP TABLE IF EXISTS `mybb_attachments`;
CREATE TABLE `mybb_attachments` (
  `aid` int(10) unsigned NOT NULL DEFAULT 0,
  `pid` int(10) unsigned NOT NULL DEFAULT 0,
  `posthash` varchar(255) NOT NULL DEFAULT '',
  `uid` int(10) unsigned NOT NULL DEFAULT 0,
  `filename` varchar(255) NOT NULL DEFAULT '',
  `filetype` varchar(255) NOT NULL DEFAULT '',
  `filesize` int(10) unsigned NOT NULL DEFAULT 0,
  `attachname` varchar(255) NOT NULL DEFAULT '',
  `downloads` int(10) unsigned NOT NULL DEFAULT 0,
  `dateuploaded` int(10) unsigned NOT NULL DEFAULT 0,
  `visible` smallint(6) NOT NULL DEFAULT 0,
  `thumbnail` varchar(255) NOT NULL DEFAULT ''
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

INSERT INTO `mybb_attachments` VALUES
(1,11,'',2,'dot.png','image/png',70,'201103/post_2_1300000300_0123456789abcdef.attach',3,1300000300,1,''),
(2,11,'',2,'passwd.txt','text/plain',1,'../../../etc/passwd',0,1300000300,1,'');

DROP TABLE IF EXISTS `mybb_banned`;
CREATE TABLE `mybb_banned` (
  `uid` int(10) unsigned NOT NULL DEFAULT 0,
  `gid` int(10) unsigned NOT NULL DEFAULT 0,
  `oldgroup` int(10) unsigned NOT NULL DEFAULT 0,
  `admin` int(10) unsigned NOT NULL DEFAULT 0,
  `dateline` int(10) unsigned NOT NULL DEFAULT 0,
  `bantime` varchar(255) NOT NULL DEFAULT '',
  `lifted` int(10) unsigned NOT NULL DEFAULT 0,
  `reason` varchar(255) NOT NULL DEFAULT ''
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

INSERT INTO `mybb_banned` VALUES
(5,7,2,1,1300000000,'---',0,'spam');

DROP TABLE IF EXISTS `mybb_forumpermissions`;
CREATE TABLE `mybb_forumpermissions` (
  `pid` int(10) unsigned NOT NULL DEFAULT 0,
  `fid` int(10) unsigned NOT NULL DEFAULT 0,
  `gid` int(10) unsigned NOT NULL DEFAULT 0,
  `canview` smallint(6) NOT NULL DEFAULT 0,
  `canviewthreads` smallint(6) NOT NULL DEFAULT 0,
  `canonlyviewownthreads` smallint(6) NOT NULL DEFAULT 0,
  `canpostthreads` smallint(6) NOT NULL DEFAULT 0,
  `canpostreplys` smallint(6) NOT NULL DEFAULT 0
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

INSERT INTO `mybb_forumpermissions` VALUES
(1,4,1,0,0,0,0,0),
(2,4,2,0,0,0,0,0),
(3,3,2,1,1,0,0,1);

DROP TABLE IF EXISTS `mybb_forums`;
CREATE TABLE `mybb_forums` (
  `fid` int(10) unsigned NOT NULL DEFAULT 0,
  `name` varchar(255) NOT NULL DEFAULT '',
  `description` mediumtext NOT NULL,
  `linkto` varchar(255) NOT NULL DEFAULT '',
  `type` varchar(255) NOT NULL DEFAULT '',
  `pid` int(10) unsigned NOT NULL DEFAULT 0,
  `parentlist` varchar(255) NOT NULL DEFAULT '',
  `disporder` int(10) unsigned NOT NULL DEFAULT 0,
  `active` smallint(6) NOT NULL DEFAULT 0,
  `open` smallint(6) NOT NULL DEFAULT 0,
  `password` varchar(255) NOT NULL DEFAULT ''
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

INSERT INTO `mybb_forums` VALUES
(1,'Main','','','c',0,'1',1,1,1,''),
(2,'Talk & <b>chat</b>','All <i>about</i> it','','f',1,'1,2',1,1,1,''),
(3,'News','','','f',1,'1,3',2,1,1,''),
(4,'Team','','','f',1,'1,4',3,1,1,''),
(5,'Below the team','','','f',4,'1,4,5',1,1,1,''),
(6,'Secret word','','','f',1,'1,6',4,1,1,'word');

DROP TABLE IF EXISTS `mybb_posts`;
CREATE TABLE `mybb_posts` (
  `pid` int(10) unsigned NOT NULL DEFAULT 0,
  `tid` int(10) unsigned NOT NULL DEFAULT 0,
  `replyto` int(10) unsigned NOT NULL DEFAULT 0,
  `fid` int(10) unsigned NOT NULL DEFAULT 0,
  `subject` varchar(255) NOT NULL DEFAULT '',
  `uid` int(10) unsigned NOT NULL DEFAULT 0,
  `username` varchar(255) NOT NULL DEFAULT '',
  `dateline` int(10) unsigned NOT NULL DEFAULT 0,
  `message` mediumtext NOT NULL,
  `edituid` int(10) unsigned NOT NULL DEFAULT 0,
  `edittime` int(10) unsigned NOT NULL DEFAULT 0,
  `editreason` varchar(255) NOT NULL DEFAULT '',
  `visible` smallint(6) NOT NULL DEFAULT 0
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

INSERT INTO `mybb_posts` VALUES
(10,20,0,2,'Hello',2,'Ann',1300000000,'Hello [b]everybody[/b], 3 < 4\nsee [url=https://example.com/a]this[/url]',0,0,'',1),
(11,20,10,2,'RE: Hello',3,'Bert',1300000100,'[quote=\'Ann\' pid=\'10\' dateline=\'1300000000\']Hello[/quote]\nHi [attachment=1] and [attachment=9]',2,1300000200,'typo',1),
(12,20,10,2,'RE: Hello',0,'Passer-by',1300000150,'of a guest',0,0,'',1),
(13,20,10,2,'RE: Hello',5,'Spammer',1300000160,'BUY NOW',0,0,'',-1),
(14,21,0,4,'Internal',2,'Ann',1300000300,'Only for the team',0,0,'',1),
(15,22,0,5,'Deeper',2,'Ann',1300000400,'Only for the team as well',0,0,'',1),
(16,23,0,2,'Held',3,'Bert',1300000500,'to be approved',0,0,'',0),
(17,24,0,2,'A draft',3,'Bert',1300000500,'not written yet',0,0,'',-2),
(18,26,0,6,'Word',3,'Bert',1300000500,'behind a word',0,0,'',1);

DROP TABLE IF EXISTS `mybb_privatemessages`;
CREATE TABLE `mybb_privatemessages` (
  `pmid` int(10) unsigned NOT NULL DEFAULT 0,
  `uid` int(10) unsigned NOT NULL DEFAULT 0,
  `toid` int(10) unsigned NOT NULL DEFAULT 0,
  `fromid` int(10) unsigned NOT NULL DEFAULT 0,
  `recipients` mediumtext NOT NULL,
  `folder` smallint(6) NOT NULL DEFAULT 0,
  `subject` varchar(255) NOT NULL DEFAULT '',
  `icon` int(10) unsigned NOT NULL DEFAULT 0,
  `message` mediumtext NOT NULL,
  `dateline` int(10) unsigned NOT NULL DEFAULT 0,
  `deletetime` int(10) unsigned NOT NULL DEFAULT 0,
  `status` smallint(6) NOT NULL DEFAULT 0,
  `statustime` int(10) unsigned NOT NULL DEFAULT 0
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

INSERT INTO `mybb_privatemessages` VALUES
(1,3,3,2,'',1,'A question',0,'secret of [b]two[/b]',1300000000,0,1,0),
(2,2,3,2,'',2,'A question',0,'secret of [b]two[/b]',1300000000,0,1,0),
(3,2,2,3,'',1,'RE: A question',0,'answer',1300000100,0,0,0),
(4,3,2,3,'',2,'RE: A question',0,'answer',1300000100,0,1,0),
(5,2,3,2,'',3,'A question',0,'a draft',1300000200,0,1,0),
(6,3,3,2,'',4,'Thrown away',0,'thrown away',1300000300,0,1,0);

DROP TABLE IF EXISTS `mybb_threads`;
CREATE TABLE `mybb_threads` (
  `tid` int(10) unsigned NOT NULL DEFAULT 0,
  `fid` int(10) unsigned NOT NULL DEFAULT 0,
  `subject` varchar(255) NOT NULL DEFAULT '',
  `prefix` int(10) unsigned NOT NULL DEFAULT 0,
  `uid` int(10) unsigned NOT NULL DEFAULT 0,
  `username` varchar(255) NOT NULL DEFAULT '',
  `dateline` int(10) unsigned NOT NULL DEFAULT 0,
  `firstpost` int(10) unsigned NOT NULL DEFAULT 0,
  `views` int(10) unsigned NOT NULL DEFAULT 0,
  `replies` int(10) unsigned NOT NULL DEFAULT 0,
  `closed` varchar(255) NOT NULL DEFAULT '',
  `sticky` smallint(6) NOT NULL DEFAULT 0,
  `poll` int(10) unsigned NOT NULL DEFAULT 0,
  `visible` smallint(6) NOT NULL DEFAULT 0
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

INSERT INTO `mybb_threads` VALUES
(20,2,'Hello \"world\"',0,2,'Ann',1300000000,10,42,3,'',1,1,1),
(21,4,'Internal',0,2,'Ann',1300000300,14,1,0,'1',0,0,1),
(22,5,'Deeper',0,2,'Ann',1300000400,15,1,0,'',0,0,1),
(23,2,'Held',0,3,'Bert',1300000500,16,1,0,'',0,0,0),
(24,2,'A draft',0,3,'Bert',1300000500,17,1,0,'',0,0,-2),
(25,3,'Moved',0,3,'Bert',1300000500,10,1,0,'moved|20',0,0,1),
(26,6,'Word',0,3,'Bert',1300000500,18,1,0,'',0,0,1);

DROP TABLE IF EXISTS `mybb_usergroups`;
CREATE TABLE `mybb_usergroups` (
  `gid` int(10) unsigned NOT NULL DEFAULT 0,
  `type` smallint(6) NOT NULL DEFAULT 0,
  `title` varchar(255) NOT NULL DEFAULT '',
  `canview` smallint(6) NOT NULL DEFAULT 0,
  `canviewthreads` smallint(6) NOT NULL DEFAULT 0,
  `canpostthreads` smallint(6) NOT NULL DEFAULT 0,
  `canpostreplys` smallint(6) NOT NULL DEFAULT 0,
  `isbannedgroup` smallint(6) NOT NULL DEFAULT 0
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

INSERT INTO `mybb_usergroups` VALUES
(1,1,'Guests',1,1,0,0,0),
(2,1,'Registered',1,1,1,1,0),
(4,1,'Administrators',1,1,1,1,0),
(5,1,'Awaiting Activation',1,1,0,0,0),
(7,1,'Banned',0,0,0,0,1);

DROP TABLE IF EXISTS `mybb_users`;
CREATE TABLE `mybb_users` (
  `uid` int(10) unsigned NOT NULL DEFAULT 0,
  `username` varchar(255) NOT NULL DEFAULT '',
  `password` varchar(255) NOT NULL DEFAULT '',
  `salt` varchar(255) NOT NULL DEFAULT '',
  `email` varchar(255) NOT NULL DEFAULT '',
  `postnum` int(10) unsigned NOT NULL DEFAULT 0,
  `avatar` varchar(255) NOT NULL DEFAULT '',
  `avatartype` varchar(10) NOT NULL DEFAULT '',
  `usergroup` int(10) unsigned NOT NULL DEFAULT 0,
  `regdate` int(10) unsigned NOT NULL DEFAULT 0,
  `lastactive` int(10) unsigned NOT NULL DEFAULT 0,
  `signature` mediumtext NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

INSERT INTO `mybb_users` VALUES
(2,'Ann','b2f816b2f41426355f375629ebb88f40','sAlTsAlt','ann@example.org',2,'./uploads/avatars/a.png?dateline=1300000000','upload',2,1200000000,1300000900,'mine'),
(3,'Bert','$2y$10$dry66NIutEu.RAvsJVlpZOmYgGTbK.lgHPfwiEpb5qe0orrfoJgn2','','bert@example.org',2,'','',4,1200000100,1300000900,''),
(4,'Sleeper','0123456789abcdef0123456789abcdef','','sleeper@example.org',0,'','',5,1200000100,0,''),
(5,'Spammer','','','spam@example.org',0,'','',7,1200000100,0,'');
-- Dump completed
