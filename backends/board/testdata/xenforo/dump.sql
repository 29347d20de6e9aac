-- MySQL dump 10.19  Distrib 10.11.6-MariaDB, for Linux (x86_64)
/*!40101 SET NAMES utf8mb4 */;

DROP TABLE IF EXISTS `xf_attachment`;
CREATE TABLE `xf_attachment` (
  `attachment_id` int(10) unsigned NOT NULL DEFAULT 0,
  `data_id` int(10) unsigned NOT NULL DEFAULT 0,
  `content_type` varchar(255) NOT NULL DEFAULT '',
  `content_id` int(10) unsigned NOT NULL DEFAULT 0,
  `attach_date` int(10) unsigned NOT NULL DEFAULT 0,
  `temp_hash` varchar(255) NOT NULL DEFAULT '',
  `unassociated` smallint(6) NOT NULL DEFAULT 0,
  `view_count` int(10) unsigned NOT NULL DEFAULT 0
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

INSERT INTO `xf_attachment` VALUES
(1,1005,'post',11,1300000100,'',0,3),
(2,1006,'conversation_message',1,1300000100,'',0,0),
(3,9999,'post',11,1300000100,'',0,0);

DROP TABLE IF EXISTS `xf_attachment_data`;
CREATE TABLE `xf_attachment_data` (
  `data_id` int(10) unsigned NOT NULL DEFAULT 0,
  `user_id` int(10) unsigned NOT NULL DEFAULT 0,
  `upload_date` int(10) unsigned NOT NULL DEFAULT 0,
  `filename` varchar(255) NOT NULL DEFAULT '',
  `file_size` int(10) unsigned NOT NULL DEFAULT 0,
  `file_hash` varchar(255) NOT NULL DEFAULT ''
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

INSERT INTO `xf_attachment_data` VALUES
(1005,3,1300000100,'dot.png',70,'0123456789abcdef0123456789abcdef'),
(1006,3,1300000100,'pm.txt',1,'../../etc/passwd');

DROP TABLE IF EXISTS `xf_conversation_master`;
CREATE TABLE `xf_conversation_master` (
  `conversation_id` int(10) unsigned NOT NULL DEFAULT 0,
  `title` varchar(255) NOT NULL DEFAULT '',
  `user_id` int(10) unsigned NOT NULL DEFAULT 0,
  `username` varchar(255) NOT NULL DEFAULT '',
  `start_date` int(10) unsigned NOT NULL DEFAULT 0,
  `reply_count` int(10) unsigned NOT NULL DEFAULT 0,
  `recipient_count` int(10) unsigned NOT NULL DEFAULT 0
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

INSERT INTO `xf_conversation_master` VALUES
(1,'A question',2,'Ann',1300000000,1,2),
(2,'Left by all',2,'Ann',1300000000,0,2);

DROP TABLE IF EXISTS `xf_conversation_message`;
CREATE TABLE `xf_conversation_message` (
  `message_id` int(10) unsigned NOT NULL DEFAULT 0,
  `conversation_id` int(10) unsigned NOT NULL DEFAULT 0,
  `message_date` int(10) unsigned NOT NULL DEFAULT 0,
  `user_id` int(10) unsigned NOT NULL DEFAULT 0,
  `username` varchar(255) NOT NULL DEFAULT '',
  `message` mediumtext NOT NULL,
  `attach_count` int(10) unsigned NOT NULL DEFAULT 0
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

INSERT INTO `xf_conversation_message` VALUES
(1,1,1300000000,2,'Ann','secret of [B]two[/B]',0),
(2,1,1300000100,3,'Bert','answer',0),
(3,2,1300000100,3,'Bert','left',0);

DROP TABLE IF EXISTS `xf_conversation_recipient`;
CREATE TABLE `xf_conversation_recipient` (
  `conversation_id` int(10) unsigned NOT NULL DEFAULT 0,
  `user_id` int(10) unsigned NOT NULL DEFAULT 0,
  `recipient_state` varchar(255) NOT NULL DEFAULT '',
  `last_read_date` int(10) unsigned NOT NULL DEFAULT 0
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

INSERT INTO `xf_conversation_recipient` VALUES
(1,2,'active',1300000050),
(1,3,'active',1300000100),
(2,2,'deleted',0),
(2,3,'deleted_ignored',0);

DROP TABLE IF EXISTS `xf_forum`;
CREATE TABLE `xf_forum` (
  `node_id` int(10) unsigned NOT NULL DEFAULT 0,
  `discussion_count` int(10) unsigned NOT NULL DEFAULT 0,
  `message_count` int(10) unsigned NOT NULL DEFAULT 0,
  `allow_posting` smallint(6) NOT NULL DEFAULT 0
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

INSERT INTO `xf_forum` VALUES
(2,1,3,1),
(3,0,0,0),
(4,1,1,1),
(5,1,1,1),
(6,1,1,1);

DROP TABLE IF EXISTS `xf_link_forum`;
CREATE TABLE `xf_link_forum` (
  `node_id` int(10) unsigned NOT NULL DEFAULT 0,
  `link_url` varchar(255) NOT NULL DEFAULT '',
  `redirect_count` int(10) unsigned NOT NULL DEFAULT 0
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

INSERT INTO `xf_link_forum` VALUES
(7,'https://example.com/',3);

DROP TABLE IF EXISTS `xf_node`;
CREATE TABLE `xf_node` (
  `node_id` int(10) unsigned NOT NULL DEFAULT 0,
  `title` varchar(255) NOT NULL DEFAULT '',
  `description` mediumtext NOT NULL,
  `node_name` varchar(255) NOT NULL DEFAULT '',
  `node_type_id` varchar(255) NOT NULL DEFAULT '',
  `parent_node_id` int(10) unsigned NOT NULL DEFAULT 0,
  `display_order` int(10) unsigned NOT NULL DEFAULT 0,
  `lft` int(10) unsigned NOT NULL DEFAULT 0,
  `rgt` int(10) unsigned NOT NULL DEFAULT 0
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

INSERT INTO `xf_node` VALUES
(1,'Main','','','Category',0,1,1,10),
(2,'Talk & chat','All <i>about</i> it','','Forum',1,1,2,3),
(3,'News','','','Forum',1,2,4,5),
(4,'Team','','','Forum',1,3,6,9),
(5,'Below the team','','','Forum',4,1,7,8),
(6,'Own threads only','','','Forum',0,2,11,12),
(7,'Our site','','','LinkForum',0,3,13,14),
(8,'A page','','about','Page',0,4,15,16);

DROP TABLE IF EXISTS `xf_permission_entry`;
CREATE TABLE `xf_permission_entry` (
  `permission_entry_id` int(10) unsigned NOT NULL DEFAULT 0,
  `user_group_id` int(10) unsigned NOT NULL DEFAULT 0,
  `user_id` int(10) unsigned NOT NULL DEFAULT 0,
  `permission_group_id` varchar(255) NOT NULL DEFAULT '',
  `permission_id` varchar(255) NOT NULL DEFAULT '',
  `permission_value` varchar(255) NOT NULL DEFAULT '',
  `permission_value_int` int(10) unsigned NOT NULL DEFAULT 0
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

INSERT INTO `xf_permission_entry` VALUES
(1,1,0,'general','view','allow',0),
(2,1,0,'general','viewNode','allow',0),
(3,1,0,'forum','viewContent','allow',0),
(4,1,0,'forum','viewOthers','allow',0),
(5,2,0,'general','view','allow',0),
(6,2,0,'general','viewNode','allow',0),
(7,2,0,'forum','viewContent','allow',0),
(8,2,0,'forum','viewOthers','allow',0),
(9,2,0,'forum','postThread','allow',0),
(10,2,0,'forum','postReply','allow',0);

DROP TABLE IF EXISTS `xf_permission_entry_content`;
CREATE TABLE `xf_permission_entry_content` (
  `permission_entry_id` int(10) unsigned NOT NULL DEFAULT 0,
  `content_type` varchar(255) NOT NULL DEFAULT '',
  `content_id` int(10) unsigned NOT NULL DEFAULT 0,
  `user_group_id` int(10) unsigned NOT NULL DEFAULT 0,
  `user_id` int(10) unsigned NOT NULL DEFAULT 0,
  `permission_group_id` varchar(255) NOT NULL DEFAULT '',
  `permission_id` varchar(255) NOT NULL DEFAULT '',
  `permission_value` varchar(255) NOT NULL DEFAULT '',
  `permission_value_int` int(10) unsigned NOT NULL DEFAULT 0
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

INSERT INTO `xf_permission_entry_content` VALUES
(1,'node',4,0,0,'general','viewNode','reset',0),
(2,'node',4,3,0,'general','viewNode','content_allow',0),
(3,'node',6,1,0,'forum','viewOthers','deny',0),
(4,'node',3,2,0,'forum','postThread','reset',0),
(5,'node',4,2,7,'general','viewNode','content_allow',0);

DROP TABLE IF EXISTS `xf_post`;
CREATE TABLE `xf_post` (
  `post_id` int(10) unsigned NOT NULL DEFAULT 0,
  `thread_id` int(10) unsigned NOT NULL DEFAULT 0,
  `user_id` int(10) unsigned NOT NULL DEFAULT 0,
  `username` varchar(255) NOT NULL DEFAULT '',
  `post_date` int(10) unsigned NOT NULL DEFAULT 0,
  `message` mediumtext NOT NULL,
  `message_state` varchar(255) NOT NULL DEFAULT '',
  `attach_count` int(10) unsigned NOT NULL DEFAULT 0,
  `position` int(10) unsigned NOT NULL DEFAULT 0,
  `last_edit_date` int(10) unsigned NOT NULL DEFAULT 0,
  `last_edit_user_id` int(10) unsigned NOT NULL DEFAULT 0,
  `edit_count` int(10) unsigned NOT NULL DEFAULT 0
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

INSERT INTO `xf_post` VALUES
(10,20,2,'Ann',1300000000,'Hello [B]everybody[/B], 3 < 4\nsee [URL=\"https://example.com/a\"]this[/URL]','visible',0,0,0,0,0),
(11,20,3,'Bert',1300000100,'[QUOTE=\"Ann, post: 10, member: 2\"]\nHello\n[/QUOTE]\nHi [ATTACH=full]1[/ATTACH] and [USER=2]@Ann[/USER]','visible',1,1,1300000200,2,1),
(12,20,0,'Passer-by',1300000150,'of a guest','visible',0,2,0,0,0),
(13,20,5,'Spammer',1300000160,'BUY NOW','deleted',0,3,0,0,0),
(14,21,2,'Ann',1300000300,'Only for the team','visible',0,0,0,0,0),
(15,22,2,'Ann',1300000400,'Only for the team as well','visible',0,0,0,0,0),
(16,23,3,'Bert',1300000500,'to be approved','visible',0,0,0,0,0),
(17,24,3,'Bert',1300000500,'not for guests','visible',0,0,0,0,0);

DROP TABLE IF EXISTS `xf_thread`;
CREATE TABLE `xf_thread` (
  `thread_id` int(10) unsigned NOT NULL DEFAULT 0,
  `node_id` int(10) unsigned NOT NULL DEFAULT 0,
  `title` varchar(255) NOT NULL DEFAULT '',
  `reply_count` int(10) unsigned NOT NULL DEFAULT 0,
  `view_count` int(10) unsigned NOT NULL DEFAULT 0,
  `user_id` int(10) unsigned NOT NULL DEFAULT 0,
  `username` varchar(255) NOT NULL DEFAULT '',
  `post_date` int(10) unsigned NOT NULL DEFAULT 0,
  `sticky` smallint(6) NOT NULL DEFAULT 0,
  `discussion_state` varchar(255) NOT NULL DEFAULT '',
  `discussion_open` smallint(6) NOT NULL DEFAULT 0,
  `discussion_type` varchar(255) NOT NULL DEFAULT '',
  `first_post_id` int(10) unsigned NOT NULL DEFAULT 0
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

INSERT INTO `xf_thread` VALUES
(20,2,'Hello \"world\"',3,42,2,'Ann',1300000000,1,'visible',1,'poll',10),
(21,4,'Internal',0,1,2,'Ann',1300000300,0,'visible',0,'discussion',14),
(22,5,'Deeper',0,1,2,'Ann',1300000400,0,'visible',1,'discussion',15),
(23,2,'Held',0,1,3,'Bert',1300000500,0,'moderated',1,'discussion',16),
(24,6,'Not for guests',0,1,3,'Bert',1300000500,0,'visible',1,'discussion',17),
(25,3,'Moved',0,0,3,'Bert',1300000500,0,'visible',1,'redirect',0);

DROP TABLE IF EXISTS `xf_user`;
CREATE TABLE `xf_user` (
  `user_id` int(10) unsigned NOT NULL DEFAULT 0,
  `username` varchar(255) NOT NULL DEFAULT '',
  `email` varchar(255) NOT NULL DEFAULT '',
  `user_group_id` int(10) unsigned NOT NULL DEFAULT 0,
  `register_date` int(10) unsigned NOT NULL DEFAULT 0,
  `last_activity` int(10) unsigned NOT NULL DEFAULT 0,
  `user_state` varchar(255) NOT NULL DEFAULT '',
  `is_banned` smallint(6) NOT NULL DEFAULT 0,
  `avatar_date` int(10) unsigned NOT NULL DEFAULT 0
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

INSERT INTO `xf_user` VALUES
(2,'Ann','ann@example.org',2,1200000000,1300000900,'valid',0,1),
(3,'Bert','bert@example.org',2,1200000100,1300000900,'valid',0,0),
(4,'Sleeper','sleeper@example.org',2,1200000100,0,'email_confirm',0,0),
(5,'Spammer','spam@example.org',2,1200000100,0,'valid',1,0);

DROP TABLE IF EXISTS `xf_user_authenticate`;
CREATE TABLE `xf_user_authenticate` (
  `user_id` int(10) unsigned NOT NULL DEFAULT 0,
  `scheme_class` varchar(255) NOT NULL DEFAULT '',
  `data` mediumblob NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

INSERT INTO `xf_user_authenticate` VALUES
(2,'XF:Core','a:3:{s:4:\"hash\";s:64:\"b8b3bb7e3598ac91c06fd1b9441f5445c62a06a7b185749ccc5303fd75b84cb5\";s:4:\"salt\";s:4:\"s4lt\";s:8:\"hashFunc\";s:6:\"sha256\";}'),
(3,'XF:Core12','a:1:{s:4:\"hash\";s:60:\"$2y$10$ugiN38Ht0BIT49OI/8rOWu0Vq7At2oqiM.P1kMN/5fhgHlKMSdBum\";}'),
(4,'XF:NoPassword','a:0:{}');

DROP TABLE IF EXISTS `xf_user_ban`;
CREATE TABLE `xf_user_ban` (
  `user_id` int(10) unsigned NOT NULL DEFAULT 0,
  `ban_user_id` int(10) unsigned NOT NULL DEFAULT 0,
  `ban_date` int(10) unsigned NOT NULL DEFAULT 0,
  `end_date` int(10) unsigned NOT NULL DEFAULT 0,
  `user_reason` varchar(255) NOT NULL DEFAULT ''
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

INSERT INTO `xf_user_ban` VALUES
(5,1,1300000000,0,'spam');

DROP TABLE IF EXISTS `xf_user_profile`;
CREATE TABLE `xf_user_profile` (
  `user_id` int(10) unsigned NOT NULL DEFAULT 0,
  `signature` mediumtext NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

INSERT INTO `xf_user_profile` VALUES
(2,'mine'),
(3,'');
-- Dump completed
