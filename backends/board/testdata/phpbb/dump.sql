-- MySQL dump 10.13  Distrib 8.0.36, for Linux (x86_64)
--
-- Host: localhost    Database: forum
-- ------------------------------------------------------
/*!40101 SET NAMES utf8mb4 */;
/*!40014 SET @OLD_FOREIGN_KEY_CHECKS=@@FOREIGN_KEY_CHECKS, FOREIGN_KEY_CHECKS=0 */;

DROP TABLE IF EXISTS `phpbb_acl_groups`;
CREATE TABLE `phpbb_acl_groups` (
  `group_id` int(10) unsigned NOT NULL DEFAULT 0,
  `forum_id` int(10) unsigned NOT NULL DEFAULT 0,
  `auth_option_id` int(10) unsigned NOT NULL DEFAULT 0,
  `auth_role_id` int(10) unsigned NOT NULL DEFAULT 0,
  `auth_setting` tinyint(3) NOT NULL DEFAULT 0,
  KEY `group_id` (`group_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb3 COLLATE=utf8mb3_bin;

LOCK TABLES `phpbb_acl_groups` WRITE;
/*!40000 ALTER TABLE `phpbb_acl_groups` DISABLE KEYS */;
INSERT INTO `phpbb_acl_groups` VALUES (1,1,0,17,0),(1,2,0,17,0),(2,1,0,15,0),(2,2,0,15,0),(2,3,0,17,0),(1,3,0,17,0),(1,4,0,17,0),(2,4,0,15,0),(5,5,0,15,0),(2,6,0,15,0),(1,6,0,17,0);
/*!40000 ALTER TABLE `phpbb_acl_groups` ENABLE KEYS */;
UNLOCK TABLES;

DROP TABLE IF EXISTS `phpbb_acl_options`;
CREATE TABLE `phpbb_acl_options` (
  `auth_option_id` mediumint(8) unsigned NOT NULL AUTO_INCREMENT,
  `auth_option` varchar(255) COLLATE utf8mb3_bin NOT NULL DEFAULT '',
  `is_global` tinyint(1) unsigned NOT NULL DEFAULT 0,
  `is_local` tinyint(1) unsigned NOT NULL DEFAULT 0,
  `founder_only` tinyint(1) unsigned NOT NULL DEFAULT 0,
  PRIMARY KEY (`auth_option_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb3 COLLATE=utf8mb3_bin;

LOCK TABLES `phpbb_acl_options` WRITE;
/*!40000 ALTER TABLE `phpbb_acl_options` DISABLE KEYS */;
INSERT INTO `phpbb_acl_options` VALUES (1,'f_',0,1,0),(2,'f_list',0,1,0),(3,'f_read',0,1,0),(4,'f_post',0,1,0),(5,'f_reply',0,1,0);
/*!40000 ALTER TABLE `phpbb_acl_options` ENABLE KEYS */;
UNLOCK TABLES;

DROP TABLE IF EXISTS `phpbb_acl_roles_data`;
CREATE TABLE `phpbb_acl_roles_data` (
  `role_id` int(10) unsigned NOT NULL DEFAULT 0,
  `auth_option_id` int(10) unsigned NOT NULL DEFAULT 0,
  `auth_setting` tinyint(3) NOT NULL DEFAULT 0,
  PRIMARY KEY (`role_id`,`auth_option_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb3 COLLATE=utf8mb3_bin;

LOCK TABLES `phpbb_acl_roles_data` WRITE;
/*!40000 ALTER TABLE `phpbb_acl_roles_data` DISABLE KEYS */;
INSERT INTO `phpbb_acl_roles_data` VALUES (15,2,1),(15,3,1),(15,4,1),(15,5,1),(17,2,1),(17,3,1),(17,4,0);
/*!40000 ALTER TABLE `phpbb_acl_roles_data` ENABLE KEYS */;
UNLOCK TABLES;

DROP TABLE IF EXISTS `phpbb_attachments`;
CREATE TABLE `phpbb_attachments` (
  `attach_id` int(10) unsigned NOT NULL AUTO_INCREMENT,
  `post_msg_id` int(10) unsigned NOT NULL DEFAULT 0,
  `topic_id` int(10) unsigned NOT NULL DEFAULT 0,
  `in_message` tinyint(1) unsigned NOT NULL DEFAULT 0,
  `poster_id` int(10) unsigned NOT NULL DEFAULT 0,
  `is_orphan` tinyint(1) unsigned NOT NULL DEFAULT 0,
  `physical_filename` varchar(255) COLLATE utf8mb3_bin NOT NULL DEFAULT '',
  `real_filename` varchar(255) COLLATE utf8mb3_bin NOT NULL DEFAULT '',
  `download_count` int(10) unsigned NOT NULL DEFAULT 0,
  `attach_comment` text NOT NULL,
  `extension` varchar(255) COLLATE utf8mb3_bin NOT NULL DEFAULT '',
  `mimetype` varchar(255) COLLATE utf8mb3_bin NOT NULL DEFAULT '',
  `filesize` int(10) unsigned NOT NULL DEFAULT 0,
  `filetime` int(10) unsigned NOT NULL DEFAULT 0,
  `thumbnail` tinyint(1) unsigned NOT NULL DEFAULT 0,
  PRIMARY KEY (`attach_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb3 COLLATE=utf8mb3_bin;

LOCK TABLES `phpbb_attachments` WRITE;
/*!40000 ALTER TABLE `phpbb_attachments` DISABLE KEYS */;
INSERT INTO `phpbb_attachments` VALUES (1,12,3,0,3,0,'3_0f1e2d','plan &amp; notes.txt',4,'','txt','text/plain',12,1300000300,0),(2,12,3,0,3,0,'3_aabbcc','dot.png',9,'','png','image/png',70,1300000301,0),(3,13,3,0,4,0,'../../../etc/passwd','passwd.txt',0,'','txt','text/plain',1,1300000302,0),(4,99,3,1,3,0,'3_private','pm.txt',0,'','txt','text/plain',1,1300000302,0);
/*!40000 ALTER TABLE `phpbb_attachments` ENABLE KEYS */;
UNLOCK TABLES;

DROP TABLE IF EXISTS `phpbb_banlist`;
CREATE TABLE `phpbb_banlist` (
  `ban_id` int(10) unsigned NOT NULL AUTO_INCREMENT,
  `ban_userid` int(10) unsigned NOT NULL DEFAULT 0,
  `ban_ip` varchar(255) COLLATE utf8mb3_bin NOT NULL DEFAULT '',
  `ban_email` varchar(255) COLLATE utf8mb3_bin NOT NULL DEFAULT '',
  `ban_start` int(10) unsigned NOT NULL DEFAULT 0,
  `ban_end` int(10) unsigned NOT NULL DEFAULT 0,
  `ban_exclude` tinyint(1) unsigned NOT NULL DEFAULT 0,
  `ban_reason` varchar(255) COLLATE utf8mb3_bin NOT NULL DEFAULT '',
  `ban_give_reason` varchar(255) COLLATE utf8mb3_bin NOT NULL DEFAULT '',
  PRIMARY KEY (`ban_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb3 COLLATE=utf8mb3_bin;

LOCK TABLES `phpbb_banlist` WRITE;
/*!40000 ALTER TABLE `phpbb_banlist` DISABLE KEYS */;
INSERT INTO `phpbb_banlist` VALUES (1,6,'','',1300000000,0,0,'spam',''),(2,4,'','',1300000000,1300000100,0,'over',''),(3,0,'203.0.113.9','',1,0,0,'','');
/*!40000 ALTER TABLE `phpbb_banlist` ENABLE KEYS */;
UNLOCK TABLES;

DROP TABLE IF EXISTS `phpbb_config`;
CREATE TABLE `phpbb_config` (
  `config_name` varchar(255) COLLATE utf8mb3_bin NOT NULL DEFAULT '',
  `config_value` varchar(255) COLLATE utf8mb3_bin NOT NULL DEFAULT '',
  `is_dynamic` tinyint(1) unsigned NOT NULL DEFAULT 0,
  PRIMARY KEY (`config_name`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb3 COLLATE=utf8mb3_bin;

LOCK TABLES `phpbb_config` WRITE;
/*!40000 ALTER TABLE `phpbb_config` DISABLE KEYS */;
INSERT INTO `phpbb_config` VALUES ('version','3.3.11',0),('sitename','It\'s; (a) \"forum\"',0);
/*!40000 ALTER TABLE `phpbb_config` ENABLE KEYS */;
UNLOCK TABLES;

DROP TABLE IF EXISTS `phpbb_config`;
CREATE TABLE `phpbb_config` (
  `config_name` varchar(255) COLLATE utf8mb3_bin NOT NULL DEFAULT '',
  `config_value` varchar(255) COLLATE utf8mb3_bin NOT NULL DEFAULT '',
  `is_dynamic` tinyint(1) unsigned NOT NULL DEFAULT 0,
  PRIMARY KEY (`config_name`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb3 COLLATE=utf8mb3_bin;
INSERT INTO `phpbb_config` VALUES ('avatar_salt','5a17',0),('sitename','An old forum',0);

DROP TABLE IF EXISTS `phpbb_forums`;
CREATE TABLE `phpbb_forums` (
  `forum_id` mediumint(8) unsigned NOT NULL AUTO_INCREMENT,
  `parent_id` int(10) unsigned NOT NULL DEFAULT 0,
  `left_id` int(10) unsigned NOT NULL DEFAULT 0,
  `right_id` int(10) unsigned NOT NULL DEFAULT 0,
  `forum_parents` mediumtext NOT NULL,
  `forum_name` varchar(255) COLLATE utf8mb3_bin NOT NULL DEFAULT '',
  `forum_desc` text NOT NULL,
  `forum_desc_uid` varchar(255) COLLATE utf8mb3_bin NOT NULL DEFAULT '',
  `forum_link` varchar(255) COLLATE utf8mb3_bin NOT NULL DEFAULT '',
  `forum_password` varchar(255) COLLATE utf8mb3_bin NOT NULL DEFAULT '',
  `forum_type` tinyint(3) NOT NULL DEFAULT 0,
  `forum_status` tinyint(3) NOT NULL DEFAULT 0,
  PRIMARY KEY (`forum_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb3 COLLATE=utf8mb3_bin;

LOCK TABLES `phpbb_forums` WRITE;
/*!40000 ALTER TABLE `phpbb_forums` DISABLE KEYS */;
INSERT INTO `phpbb_forums` VALUES (2,1,2,3,'','Talk &amp; chat','<t>All about it</t>','','','',1,0),(1,0,1,8,'','Main','','','','',0,0),(3,1,4,5,'','News','Only [b:abc12]read[/b:abc12]','abc12','','',1,0),(5,1,6,7,'','Team','','','','',1,0),(4,0,9,10,'','Archive','','','','',1,1),(6,0,11,12,'','Our site','','','https://example.com/','',2,0);
/*!40000 ALTER TABLE `phpbb_forums` ENABLE KEYS */;
UNLOCK TABLES;

DROP TABLE IF EXISTS `phpbb_groups`;
CREATE TABLE `phpbb_groups` (
  `group_id` mediumint(8) unsigned NOT NULL AUTO_INCREMENT,
  `group_type` tinyint(3) NOT NULL DEFAULT 0,
  `group_name` varchar(255) COLLATE utf8mb3_bin NOT NULL DEFAULT '',
  PRIMARY KEY (`group_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb3 COLLATE=utf8mb3_bin;

LOCK TABLES `phpbb_groups` WRITE;
/*!40000 ALTER TABLE `phpbb_groups` DISABLE KEYS */;
INSERT INTO `phpbb_groups` VALUES (1,3,'GUESTS'),(2,3,'REGISTERED'),(5,3,'ADMINISTRATORS'),(6,3,'BOTS'),(8,0,'Gardeners');
/*!40000 ALTER TABLE `phpbb_groups` ENABLE KEYS */;
UNLOCK TABLES;

DROP TABLE IF EXISTS `phpbb_posts`;
CREATE TABLE `phpbb_posts` (
  `post_id` int(10) unsigned NOT NULL AUTO_INCREMENT,
  `topic_id` int(10) unsigned NOT NULL DEFAULT 0,
  `forum_id` int(10) unsigned NOT NULL DEFAULT 0,
  `poster_id` int(10) unsigned NOT NULL DEFAULT 0,
  `poster_ip` varchar(255) COLLATE utf8mb3_bin NOT NULL DEFAULT '',
  `post_time` int(10) unsigned NOT NULL DEFAULT 0,
  `post_visibility` tinyint(3) NOT NULL DEFAULT 0,
  `enable_bbcode` tinyint(1) unsigned NOT NULL DEFAULT 0,
  `post_username` varchar(255) COLLATE utf8mb3_bin NOT NULL DEFAULT '',
  `post_subject` varchar(255) COLLATE utf8mb3_bin NOT NULL DEFAULT '',
  `post_text` mediumtext COLLATE utf8mb3_bin NOT NULL,
  `bbcode_uid` varchar(255) COLLATE utf8mb3_bin NOT NULL DEFAULT '',
  `bbcode_bitfield` varchar(255) COLLATE utf8mb3_bin NOT NULL DEFAULT '',
  `post_edit_time` int(10) unsigned NOT NULL DEFAULT 0,
  `post_edit_reason` varchar(255) COLLATE utf8mb3_bin NOT NULL DEFAULT '',
  `post_edit_user` int(10) unsigned NOT NULL DEFAULT 0,
  `post_edit_count` int(10) unsigned NOT NULL DEFAULT 0,
  PRIMARY KEY (`post_id`),
  KEY `tid_post_time` (`topic_id`,`post_time`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb3 COLLATE=utf8mb3_bin;

LOCK TABLES `phpbb_posts` WRITE;
/*!40000 ALTER TABLE `phpbb_posts` DISABLE KEYS */;
INSERT INTO `phpbb_posts` VALUES (10,2,2,3,'203.0.113.5',1300000000,1,1,'','Re: x','<r>Hello <B><s>[b]</s>everybody<e>[/b]</e></B>,<br/>\nsee <URL url=\"https://example.com/a_b\">https://example.com/a_b</URL> &amp; <E>:)</E></r>','','bitfield',0,'',0,0),(11,2,2,4,'203.0.113.5',1300000100,1,1,'','Re: x','<r><QUOTE author=\"Ann\" post_id=\"10\" time=\"1300000000\" user_id=\"3\"><s>[quote=Ann post_id=10 time=1300000000 user_id=3]</s>Hello<e>[/quote]</e></QUOTE>\nHi *you* [1]</r>','','bitfield',1300000200,'typo',4,2),(15,2,2,6,'203.0.113.5',1300000150,2,1,'','Re: x','<t>BUY NOW</t>','','bitfield',0,'',0,0),(16,2,2,1,'203.0.113.5',1300000160,1,1,'Passer &amp; by','Re: x','<t>a guest writes [b]so[/b]</t>','','bitfield',0,'',0,0),(17,2,2,7,'203.0.113.5',1300000170,1,1,'Gone','Re: x','<t>of somebody whose account is gone</t>','','bitfield',0,'',0,0),(12,3,2,3,'203.0.113.5',1300000300,1,1,'','Re: x','<r><ATTACHMENT filename=\"dot.png\" index=\"0\"><s>[attachment=0]</s>dot.png<e>[/attachment]</e></ATTACHMENT></r>','','bitfield',0,'',0,0),(13,3,2,4,'203.0.113.5',1300000400,1,1,'','Re: x','Old [b:1x2y3z4w]style[/b:1x2y3z4w] <!-- s:D --><img src=\"{SMILIES_PATH}/icon_biggrin.gif\" alt=\":D\" title=\"Very Happy\" /><!-- s:D --> <!-- m --><a class=\"postlink\" href=\"http://example.com/?a=1&amp;b=2\">http://example.com/?a=1 ... </a><!-- m -->\n[list=1:1x2y3z4w][*:1x2y3z4w]one[/*:m:1x2y3z4w][*:1x2y3z4w]two &lt;3[/*:m:1x2y3z4w][/list:o:1x2y3z4w]','1x2y3z4w','bitfield',0,'',0,0),(14,4,3,5,'203.0.113.5',1300000500,1,1,'','Re: x','<t>:)</t>','','bitfield',0,'',0,0),(18,5,5,5,'203.0.113.5',1300000600,1,1,'','Re: x','<t>Only for the team</t>','','bitfield',0,'',0,0),(19,6,4,3,'203.0.113.5',1300000700,0,1,'','Re: x','<t>to be approved</t>','','bitfield',0,'',0,0),(20,7,2,3,'203.0.113.5',1300000800,2,0,'','Re: x','<t>[b]no markup[/b]</t>','','bitfield',0,'',0,0),(21,7,2,4,'203.0.113.5',1300000900,1,1,'','Re: x','<t>an answer to what was deleted</t>','','bitfield',0,'',0,0);
/*!40000 ALTER TABLE `phpbb_posts` ENABLE KEYS */;
UNLOCK TABLES;

DROP TABLE IF EXISTS `phpbb_privmsgs`;
CREATE TABLE `phpbb_privmsgs` (
  `msg_id` int(10) unsigned NOT NULL AUTO_INCREMENT,
  `root_level` int(10) unsigned NOT NULL DEFAULT 0,
  `author_id` int(10) unsigned NOT NULL DEFAULT 0,
  `message_time` int(10) unsigned NOT NULL DEFAULT 0,
  `enable_bbcode` tinyint(1) unsigned NOT NULL DEFAULT 1,
  `message_subject` varchar(255) COLLATE utf8mb3_bin NOT NULL DEFAULT '',
  `message_text` mediumtext COLLATE utf8mb3_bin NOT NULL,
  `bbcode_uid` varchar(8) COLLATE utf8mb3_bin NOT NULL DEFAULT '',
  `to_address` text COLLATE utf8mb3_bin NOT NULL,
  PRIMARY KEY (`msg_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb3 COLLATE=utf8mb3_bin;

LOCK TABLES `phpbb_privmsgs` WRITE;
/*!40000 ALTER TABLE `phpbb_privmsgs` DISABLE KEYS */;
INSERT INTO `phpbb_privmsgs` VALUES (1,0,3,1300000000,1,'A &amp; B','<r>secret of <B><s>[b]</s>two<e>[/b]</e></B></r>','','u_4'),(2,1,4,1300000100,1,'Re: A &amp; B','<t>answer</t>','','u_3'),(3,1,4,1300000200,1,'Re: A &amp; B','<t>for three</t>','','u_3:u_5'),(4,0,7,1300000300,1,'Gone','<t>nobody has it</t>','','u_7');
/*!40000 ALTER TABLE `phpbb_privmsgs` ENABLE KEYS */;
UNLOCK TABLES;

DROP TABLE IF EXISTS `phpbb_privmsgs_to`;
CREATE TABLE `phpbb_privmsgs_to` (
  `msg_id` int(10) unsigned NOT NULL DEFAULT 0,
  `user_id` int(10) unsigned NOT NULL DEFAULT 0,
  `author_id` int(10) unsigned NOT NULL DEFAULT 0,
  `pm_deleted` tinyint(1) unsigned NOT NULL DEFAULT 0,
  `pm_new` tinyint(1) unsigned NOT NULL DEFAULT 1,
  `pm_unread` tinyint(1) unsigned NOT NULL DEFAULT 1,
  `folder_id` int(11) NOT NULL DEFAULT 0
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb3 COLLATE=utf8mb3_bin;

LOCK TABLES `phpbb_privmsgs_to` WRITE;
/*!40000 ALTER TABLE `phpbb_privmsgs_to` DISABLE KEYS */;
INSERT INTO `phpbb_privmsgs_to` VALUES (1,4,3,0,0,0,0),(1,3,3,0,0,0,-1),(2,3,4,0,1,1,0),(2,4,4,0,0,0,-1),(3,3,4,0,0,0,0),(3,5,4,0,0,0,0),(3,4,4,0,0,0,-1),(4,7,7,0,0,0,-1);
/*!40000 ALTER TABLE `phpbb_privmsgs_to` ENABLE KEYS */;
UNLOCK TABLES;

DROP TABLE IF EXISTS `phpbb_topics`;
CREATE TABLE `phpbb_topics` (
  `topic_id` int(10) unsigned NOT NULL AUTO_INCREMENT,
  `forum_id` int(10) unsigned NOT NULL DEFAULT 0,
  `topic_visibility` tinyint(3) NOT NULL DEFAULT 0,
  `topic_title` varchar(255) COLLATE utf8mb3_bin NOT NULL DEFAULT '',
  `topic_poster` int(10) unsigned NOT NULL DEFAULT 0,
  `topic_time` int(10) unsigned NOT NULL DEFAULT 0,
  `topic_views` int(10) unsigned NOT NULL DEFAULT 0,
  `topic_status` tinyint(3) NOT NULL DEFAULT 0,
  `topic_type` tinyint(3) NOT NULL DEFAULT 0,
  `topic_moved_id` int(10) unsigned NOT NULL DEFAULT 0,
  `poll_title` varchar(255) COLLATE utf8mb3_bin NOT NULL DEFAULT '',
  PRIMARY KEY (`topic_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb3 COLLATE=utf8mb3_bin;

LOCK TABLES `phpbb_topics` WRITE;
/*!40000 ALTER TABLE `phpbb_topics` DISABLE KEYS */;
INSERT INTO `phpbb_topics` VALUES (2,2,1,'Hello &quot;world&quot;',3,1300000000,42,0,1,0,'Which?'),(3,2,1,'Files',3,1300000300,7,1,0,0,''),(4,3,1,'???',5,1300000500,1,0,0,0,''),(5,5,1,'Internal',5,1300000600,3,0,0,0,''),(6,4,0,'Held',3,1300000700,0,0,0,0,''),(7,2,1,'Begins with a deleted post',3,1300000800,0,0,0,0,''),(8,4,1,'Moved away',3,1300000000,0,2,0,2,''),(9,2,1,'Empty',3,1300000000,0,0,0,0,'');
/*!40000 ALTER TABLE `phpbb_topics` ENABLE KEYS */;
UNLOCK TABLES;

DROP TABLE IF EXISTS `phpbb_user_group`;
CREATE TABLE `phpbb_user_group` (
  `group_id` int(10) unsigned NOT NULL DEFAULT 0,
  `user_id` int(10) unsigned NOT NULL DEFAULT 0,
  `group_leader` tinyint(1) unsigned NOT NULL DEFAULT 0,
  `user_pending` tinyint(1) unsigned NOT NULL DEFAULT 0,
  KEY `group_id` (`group_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb3 COLLATE=utf8mb3_bin;

LOCK TABLES `phpbb_user_group` WRITE;
/*!40000 ALTER TABLE `phpbb_user_group` DISABLE KEYS */;
INSERT INTO `phpbb_user_group` VALUES (2,3,0,0),(5,5,1,0),(5,4,0,1);
/*!40000 ALTER TABLE `phpbb_user_group` ENABLE KEYS */;
UNLOCK TABLES;

DROP TABLE IF EXISTS `phpbb_users`;
CREATE TABLE `phpbb_users` (
  `user_id` int(10) unsigned NOT NULL AUTO_INCREMENT,
  `user_type` tinyint(3) NOT NULL DEFAULT 0,
  `username` varchar(255) COLLATE utf8mb3_bin NOT NULL DEFAULT '',
  `username_clean` varchar(255) COLLATE utf8mb3_bin NOT NULL DEFAULT '',
  `user_password` varchar(255) COLLATE utf8mb3_bin NOT NULL DEFAULT '',
  `user_regdate` int(10) unsigned NOT NULL DEFAULT 0,
  `user_email` varchar(255) COLLATE utf8mb3_bin NOT NULL DEFAULT '',
  `user_lastvisit` int(10) unsigned NOT NULL DEFAULT 0,
  `user_sig` mediumtext COLLATE utf8mb3_bin NOT NULL,
  `user_avatar` varchar(255) COLLATE utf8mb3_bin NOT NULL DEFAULT '',
  `user_avatar_type` varchar(255) COLLATE utf8mb3_bin NOT NULL DEFAULT '',
  PRIMARY KEY (`user_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb3 COLLATE=utf8mb3_bin;

LOCK TABLES `phpbb_users` WRITE;
/*!40000 ALTER TABLE `phpbb_users` DISABLE KEYS */;
INSERT INTO `phpbb_users` VALUES (1,2,'Anonymous','anonymous','',0,'',0,'','',''),(3,0,'Ann','ann','$H$9anns4ltAt2u5lfjZ7FGLc2ggWwEE.1',1200000000,'ann@example.org',1300000900,'my <b>signature</b>','3_1.png','avatar.driver.upload'),(4,0,'Ann&amp;Bob','annbob','$H$9bobsSaltMemTFyIKkNukEey0SInlR/',1200000100,'bob@example.org',1300000950,'','',''),(5,3,'Root','root','$argon2id$v=19$m=65536,t=4,p=2$cm9vdHNhbHRyb290c2FsdA$mymrIwPIvOFvRDVaixyEqiipMgZ8/j3SRrdaOhRjCm4',1100000000,'root@example.org',1300000990,'','',''),(6,0,'Spammer','spammer','',1299999999,'ann@example.org',0,'','',''),(8,1,'Sleeper','sleeper','0123456789abcdef0123456789abcdef',1299999999,'not an address',0,'','',''),(9,0,'alice','alice','',1299999999,'other@example.org',0,'','',''),(50,2,'Search [Bot]','search [bot]','',1299999999,'',0,'','','');
/*!40000 ALTER TABLE `phpbb_users` ENABLE KEYS */;
UNLOCK TABLES;

/*!40014 SET FOREIGN_KEY_CHECKS=@OLD_FOREIGN_KEY_CHECKS */;
-- Dump completed on 2026-01-01  0:00:00
